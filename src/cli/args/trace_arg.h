/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens the TRACE operand, and reads the options that choose a part of the trace. */
#ifndef UPTO_CLI_ARGS_TRACE_ARG_H
#define UPTO_CLI_ARGS_TRACE_ARG_H

#include <stdio.h>

#include "base/json.h"
#include "cli/command.h"
#include "moment_arg.h"
#include "replay/fold.h"
#include "replay/index.h"
#include "replay/names.h"
#include "replay/walk.h"

#define HELP_OPTION { 'h', "help", NULL, "show this help" }
#define CLOCK_OPTION { 0, "clock", "insns|ns", "what percentages and order go by (default: insns)" }
#define SPAN_OPTIONS                                                                    \
	{ 0, "from", "TIME", "only what happens from then on: 1.5s, 20ms; " MOMENT_NAMES }, \
	{ 0, "to", "TIME", "only what happens before this guest time; likewise" },                \
	BOOT_OPTION,                                                                          \
	{ 0, "cpu", "N", "only this vCPU" }

struct trace_arg {
	struct reader *reader;
	struct names names;
	struct threads threads;
	struct fold fold;       /* what the session's is, if it has one; its marks are kept here */
	uint8_t *fold_marks;
	struct spent *fold_spent;
	bool *fold_below;
	/*
	 * the options that choose, of which the analysis heeds what they say; NULL: what they chose was written, or
	 * there are none
	 */
	char *in_pass;
	/* marks by number of thread: those of --pid, and those of their processes; NULL: it is not given */
	bool *asked_threads, *asked_processes;
	/* of these; its index is NULL unless trace_arg_index() or trace_arg_open_index() has set it */
	struct session session;
};

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
/* Open a trace, whatever the command line says. */
int open_trace(const char *path, struct trace_arg *ret, struct error *err);
void trace_arg_close(struct trace_arg *t);

#define FUNCTION_OPTION(help) { 'F', "function", "NAMES", help ": a,b; shell patterns: *open*", ',' }
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
	}
/* For the descriptions of commands that have it. */
#define INSTRUMENTS_NOTE \
	"Functions that a compiler or a debug option put in (KASAN, KCSAN, KMSAN, UBSAN, KCOV, lockdep, might_sleep, kmemleak, debugobjects, checks of " \
	"lists; in programs ASan, gcov, -finstrument-functions) are part of whoever calls them, too, with all that they call. A line says what they " \
	"cost; --instruments shows them.\n"

/* Fold what only watches the code (replay/instruments.h), unless the options say otherwise. */
void instruments_arg(const struct args *args, struct trace_arg *t);
/*
 * Append what that cost, as a line for people: "# instruments: KASAN 54 %, …". Nothing: there are none, or they are
 * shown.
 */
void instruments_put_costs(const struct trace_arg *t, struct buf *out);
/* "instruments": {"KASAN": {"insns": …, "ns": …}, …}, if any ran. */
void instruments_put_json(struct json *j, const struct trace_arg *t);

/* Fold thunks (replay/names.h), unless the options say otherwise. */
void thunks_arg(const struct args *args, struct trace_arg *t);

/*
 * The functions of --function and of the operands behind TRACE, as marks by number. *ret is
 * NULL if none is given.
 */
int functions_arg(const struct args *args, const struct names *names, bool **ret, struct error *err);
/* The functions of a list as --function takes it. */
int functions_named(const char *list, const struct names *names, bool **ret, struct error *err);

/*
 * Open the trace's index for the session. If the trace is long and has no index, make one, if it can
 * be written beside the trace. Without one, commands work likewise.
 */
void trace_arg_index(struct trace_arg *t);
/* The same, but do not make one. */
void trace_arg_open_index(struct trace_arg *t);
/* Is the trace long, and complete? */
bool is_worth_index(const struct trace_arg *t);

/* Say that the trace has no wake-ups (analysis/history/history.h). Returns -1. */
int trace_no_wakes(const struct trace_arg *t, struct error *err);

/* For the descriptions of commands that use the index. */
#define INDEX_NOTE \
	"top --total, tree, stack and calls --function make TRACE.index beside a long trace, and answer sooner from then " \
	"on. It may be removed at any time.\n"

/* For the descriptions of commands that use the history. */
#define HISTORY_NOTE \
	"timeline, waits and why keep what they find in TRACE.history beside a long trace, and answer at once from then on. It may be removed at " \
	"any time.\n"

#define ONLY_OPTIONS                                                                    \
	{ 0, "kernel", NULL, "only functions of the kernel and its modules" },          \
	{ 0, "user", NULL, "only functions of programs and libraries" },                \
	{ 0, "module", "NAMES", "only functions of these modules, programs or libraries: ext4, libc.*", ',' }, \
	FUNCTION_OPTION("only these functions")

/* The functions that the user wants to see, as marks by number. The caller frees *ret, also after an error. */
int only_arg(const struct args *args, const struct names *names, bool **ret, struct error *err);

/* Does the answer go by guest time, not by instructions? */
int clock_arg(const struct args *args, bool *ret_by_ns, struct error *err);

int span_arg(const struct args *args, struct span *ret, struct error *err);

#endif
