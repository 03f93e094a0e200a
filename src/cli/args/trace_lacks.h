/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a trace does not have since it was imported from something that does not have it, or was recorded without:
 * META's `absent`.
 */
#ifndef UPTO_CLI_ARGS_TRACE_LACKS_H
#define UPTO_CLI_ARGS_TRACE_LACKS_H

#include "cli/command.h"
#include "open_trace.h"

/* `what` is a word of META's `absent` (docs/format.md). */
bool trace_lacks(const struct trace_arg *t, const char *what);

/* Returns -1, with a message that says so, if the trace lacks what it is about. */
int trace_need(const struct trace_arg *t, const char *what, struct error *err);

/* Check what the command itself needs, and its options. */
int trace_has_needs(const struct args *args, const struct trace_arg *t, struct error *err);

/* Without instructions, what goes by a clock goes by guest time. */
static inline void trace_choose_clock(const struct trace_arg *t, bool *by_ns)
{
	*by_ns |= trace_lacks(t, "instructions");
}

#endif
