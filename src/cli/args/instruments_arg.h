/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is part of who calls it, unless the options say otherwise: thunks, and functions that only watch the code. */
#ifndef UPTO_CLI_ARGS_INSTRUMENTS_ARG_H
#define UPTO_CLI_ARGS_INSTRUMENTS_ARG_H

#include "base/json.h"
#include "cli/command.h"
#include "open_trace.h"

#define THUNKS_OPTION                                                                                                 \
	{                                                                                                             \
		0, "thunks", NULL, "show thunks: what only passes calls, jumps and returns on, as __x86_return_thunk" \
	}
/* For the descriptions of commands that have it. */
#define THUNKS_NOTE \
	"Kernel functions that only pass control on (retpolines' and return thunks, __fentry__, trampolines of static calls) are part of " \
	"whoever calls or jumps to them: their instructions are the caller's, and what they lead to is called by the caller. --thunks shows " \
	"them as functions; that goes without TRACE.index.\n"

#define INSTRUMENTS_OPTION \
	{ \
		0, "instruments", NULL, \
			"show what only watches the code, with all below it: KASAN's checks, lockdep's books, gcov's counters" \
	}, \
	{ \
		0, "fold", "FUNCTIONS", \
			"these, and all that they call, are part of whoever calls them: a,b; shell patterns: printk*", ',' \
	}
/* For the descriptions of commands that have it. */
#define INSTRUMENTS_NOTE \
	"Functions that a compiler or a debug option put in (KASAN, KCSAN, KMSAN, UBSAN, KCOV, lockdep, might_sleep, kmemleak, debugobjects, checks of " \
	"lists; in programs ASan, gcov, -finstrument-functions) are part of whoever calls them, too, with all that they call. A line says what they " \
	"cost; --instruments shows them.\n"

/* Fold what only watches the code (replay/instruments.h), unless the options say otherwise, and what --fold names. */
int instruments_arg(const struct args *args, struct trace_arg *t, struct error *err);

/*
 * Is any of these functions (as --functions has them) folded into who calls it? *ret_instruments: since it only watches
 * the code.
 */
bool fold_hides(const struct trace_arg *t, const char *list, bool *ret_instruments);

/* Is the history worth to be kept beside the trace? That which most ask for is. */
bool keeps_history(const struct args *args, const struct trace_arg *t);
/*
 * Append what that cost, as a line for people: "# instruments: KASAN 54 %, …". Nothing: there are none, or they are
 * shown.
 */
void instruments_put_costs(const struct trace_arg *t, struct buf *out);
/* "instruments": {"KASAN": {"insns": …, "ns": …}, …}, if any ran. */
void instruments_put_json(struct json *j, const struct trace_arg *t);

/* Fold thunks (replay/names.h), unless the options say otherwise. */
void thunks_arg(const struct args *args, struct trace_arg *t);

#endif
