/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens the TRACE operand, and reads the options that choose a part of the trace. */
#ifndef UPTO_CLI_ARGS_TRACE_ARG_H
#define UPTO_CLI_ARGS_TRACE_ARG_H

#include "cli/command.h"
#include "function_arg.h"
#include "instruments_arg.h"
#include "moment_arg.h"
#include "open_trace.h"
#include "replay/walk.h"

#define HELP_OPTION { 'h', "help", NULL, "show this help" }
#define CLOCK_OPTION { 0, "clock", "insns|ns", "what percentages and order go by (default: insns)" }
#define SPAN_OPTIONS                                                                    \
	{ 0, "from", "TIME", "only what happens from then on: 1.5s, 20ms; " MOMENT_NAMES }, \
	{ 0, "to", "TIME", "only what happens before this guest time; likewise" },                \
	BOOT_OPTION,                                                                          \
	{ 0, "cpu", "N", "only this vCPU" }

/*
 * Open the trace, the first operand. Fails also if it does not have what the command's
 * options ask for: the process of --pid, the vCPU of --cpu, the time of --from or --at.
 * If the trace is cut short or has lost events, standard error says so once, so that
 * no answer seems more complete than it is.
 */
int trace_arg_open(const struct args *args, struct trace_arg *ret, struct error *err);

/* What a trace is opened for. */
enum chosen_for {
	CHOSEN_FOR_EVENTS,
	/* to list calls: the trace tells which are there only for others' sake (analysis/calls/held_calls.h) */
	CHOSEN_FOR_CALLS,
	CHOSEN_FOR_SUMS,   /* the same, and it has the sums of the calls that were not chosen */
};

/* The same, for commands that list calls. */
int trace_arg_open_calls(const struct args *args, enum chosen_for purpose, struct trace_arg *ret, struct error *err);
/*
 * The same, for commands that heed some of the options that choose in their own pass: `options`, up to a NULL, of pid,
 * comm, functions and not. If no others are given, and nothing was left out of the trace before, nothing is written and
 * read back. Threads are then marked in the session, functions are the command's to choose (select_functions()).
 */
/* those that can be heeded in any pass, since others' calls are folded (replay/fold.h) */
extern const char *const folded_options[];
int trace_arg_open_pass(const struct args *args, enum chosen_for purpose, const char *const *options,
			struct trace_arg *ret, struct error *err);
/* The same, but do not choose, nor check what options ask for. */
int trace_arg_open_whole(const struct args *args, struct trace_arg *ret, struct error *err);
/* Say that the trace does not tell who was woken up (history_tells_wakes()). Returns -1. */
int trace_no_wakes(const struct trace_arg *t, struct error *err);

/* For the descriptions of commands that use the index. */
#define INDEX_NOTE \
	"top --total, tree, stack and calls --function make TRACE.index beside a long trace, and answer sooner from then " \
	"on. It may be removed at any time.\n"

/* For the descriptions of commands that use the history. */
#define HISTORY_NOTE \
	"timeline, waits and why keep what they find in TRACE.history beside a long trace, and answer at once from then on. It may be removed at " \
	"any time.\n"

/* Does the answer go by guest time, not by instructions? */
int clock_arg(const struct args *args, bool *ret_by_ns, struct error *err);

int span_arg(const struct args *args, struct span *ret, struct error *err);

#endif
