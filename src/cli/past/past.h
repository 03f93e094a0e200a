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

/*
 * The same, for who wants the records in the trace and not printed: probes by definition, with lines between them, and
 * trace events by name, with commas; "" for none. 0, or -1 with an error.
 */
int past_add(const char *path, const char *probes, const char *events, struct error *err);

#endif
