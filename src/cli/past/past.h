/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Questions that come after the recording: the guest is run again as it ran then, with probes, and what they tell is
 * added to the trace, if all that happens is what had happened.
 */
#ifndef UPTO_CLI_PAST_PAST_H
#define UPTO_CLI_PAST_PAST_H

#include "cli/command.h"

/*
 * Operands: TRACE, and definitions of probes; options event, args, debug, sysroot, json. Prints the records. Returns an
 * exit status.
 */
int past_ask(const struct args *args, struct error *err);

#endif
