/* SPDX-License-Identifier: GPL-2.0-or-later */
/* record -e PROGRAM: what the program asks for is recorded, and its answer printed once the guest has ended. */
#ifndef UPTO_CLI_RECORD_RECORDING_SCRIPT_H
#define UPTO_CLI_RECORD_RECORDING_SCRIPT_H

#include "cli/command.h"

/* Give the options --probe and --event that the program of --program needs. */
int recording_script_prepare(struct args *args, struct error *err);

/* Run it on the trace. Returns `status`, or EXIT_FAILED with an error. */
int recording_script_run(const struct args *args, const char *path, int status, struct error *err);

#endif
