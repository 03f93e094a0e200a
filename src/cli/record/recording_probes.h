/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The probes of a recording: what of their definitions takes debug information is found before the guest starts. */
#ifndef UPTO_CLI_RECORD_RECORDING_PROBES_H
#define UPTO_CLI_RECORD_RECORDING_PROBES_H

#include "base/buf.h"
#include "cli/command.h"

/* Append the definitions for the recorder, as lines of its configuration. An error: one is not
 * understood, or not to be found. `image`: the kernel's; NULL: it is not known. */
int recording_probes_put(const struct args *args, const char *image, struct buf *lines, struct error *err);

#endif
