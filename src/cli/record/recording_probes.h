/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The probes of a recording: what of their definitions takes debug information is found before the guest starts. */
#ifndef UPTO_CLI_RECORD_RECORDING_PROBES_H
#define UPTO_CLI_RECORD_RECORDING_PROBES_H

#include "base/buf.h"
#include "cli/command.h"

/* Append the definitions for the recorder, as lines of its configuration. An error: one is not understood. */
int recording_probes_put(const struct args *args, struct buf *lines, struct error *err);

#endif
