/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record -e PROGRAM: what the program asks for is recorded. If its answer can come while the guest runs, it is run
 * beside it, else once the guest has ended.
 */
#ifndef UPTO_CLI_RECORD_RECORDING_SCRIPT_H
#define UPTO_CLI_RECORD_RECORDING_SCRIPT_H

#include "recording.h"

/* Give the options --probe and --event that the program of --program needs. */
int recording_script_prepare(struct args *args, struct error *err);

/* Record, with the program if there is one. Returns as recording_run(). */
int recording_script_run(struct recording *rec, struct error *err);

#endif
