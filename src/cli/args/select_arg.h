/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The options that choose spans and calls (analysis/thin/thin.h), the same for all commands that read, for `upto thin`
 * and for recording.
 */
#ifndef UPTO_CLI_ARGS_SELECT_ARG_H
#define UPTO_CLI_ARGS_SELECT_ARG_H

#include "analysis/calls/intervals.h"
#include "analysis/thin/thin.h"
#include "cli/command.h"

#define SELECT_SPANS                                                                                              \
	{ 0, "start", "COND",                                                                                     \
	  "only from there on: entry:FUNCTION, exit:FUNCTION, time:TIME, exec:NAME, log:TEXT, test:CASE; #N: Nth", \
	  .selects = true },                                                                                      \
		{ 0, "stop", "COND", "only up to there: likewise", .selects = true },                             \
	{                                                                                                         \
		0, "every", NULL, "with --start and --stop: each time, not only the first", .selects = true       \
	}
/* For commands that know a span's surroundings, and only show less: see select_intervals(). */
#define SELECT_INTERVAL \
	{ 0, "start", "COND", \
	  "from there on, as --from: entry:FUNCTION, exit:FUNCTION, time:TIME, exec:NAME, log:TEXT, test:CASE; #N: Nth", \
	  .intervals = true }, \
	{ \
		0, "stop", "COND", "up to there, as --to: likewise", .intervals = true \
	}
#define SELECT_INTERVALS                                                                \
	SELECT_INTERVAL,                                                                \
	{ 0, "every", NULL, "with --start and --stop: each time, not only the first", .intervals = true }, \
	{ 0, "before", "TIME", "with --start: also so long before it", .intervals = true }
#define SELECT_RING                                                                     \
	{ 0, "before", "TIME", "with --start: also so long before it", .selects = true }, \
	{ 0, "limit", "N", "at most N events", .selects = true },                  \
	{ 0, "keep", "first|last", "with --limit: which of them (default: first)", .selects = true }
#define SELECT_MIN_DURATION                                                             \
	{ 0, "min-duration", "TIME", "only calls that took at least so long, from entry to exit", .selects = true }
#define SELECT_NO_INTERRUPTS                                                            \
	{ 0, "no-interrupts", NULL, "without interrupts and what is called in them", .selects = true }
#define SELECT_CALLS                                                                                              \
	{ 0, "max-duration", "TIME", "only calls that took at most so long", .selects = true },                   \
		{ 0, "only-interrupts", NULL, "only interrupts and what is called in them", .selects = true },    \
		{ 0,   "functions",    "FUNCTIONS", "only calls of these functions: a,b; shell patterns: *open*", \
		  ',', .selects = true },                                                                         \
		{ 0, "not", "FUNCTIONS", "no calls of these functions", ',', .selects = true },                   \
	{                                                                                                         \
		0, "below", "FUNCTIONS", "only calls of these functions, and what is called in them", ',',        \
			.selects = true                                                                           \
	}
#define SELECT_DEPTH                                                                                                \
	{                                                                                                           \
		0, "depth", "N",                                                                                    \
			"only N levels of calls, from a system call, an interrupt, a thread's begin or --below on", \
			.selects = true                                                                             \
	}
#define SELECT_PID                                                                      \
	{ 'p', "pid", "PID", "only calls in this thread, or in those of that name", .selects = true }
#define SELECT_COMM                                                                     \
	{ 0, "comm", "NAMES", "only calls in threads that have one of these names", ',', .selects = true }
#define SELECT_CODE                                                                                                    \
	{ 0, "kernel", NULL, "only calls of functions of the kernel and its modules", .selects = true },               \
		{ 0, "user", NULL, "only calls of functions of programs and libraries", .selects = true },             \
	{                                                                                                              \
		0, "module", "NAMES", "only calls of functions of these modules, programs or libraries: ext4, libc.*", \
			',', .selects = true                                                                           \
	}

/*
 * For commands whose answers cannot be told from a few calls: of the answer, these rows
 * (analysis/history/history_choose.h).
 */
#define SELECT_ROWS_DURATION(what)                                                      \
	{ 0, "min-duration", "TIME", "only " what " that took at least so long", .rows = true }, \
	{ 0, "max-duration", "TIME", "only " what " that took at most so long", .rows = true }
#define SELECT_ROWS_CODE(functions, below, not )                                                                     \
	{                                                                                                            \
		0,   "functions", "FUNCTIONS", "only " functions " one of these: a,b; shell patterns: *open*",       \
		',', .rows = true                                                                                    \
	},                                                                                                           \
		{ 0, "not", "FUNCTIONS", "nothing " not " one of these", ',', .rows = true },                        \
		{ 0, "below", "FUNCTIONS", "only what is " below " one of these", ',', .rows = true },               \
	{                                                                                                            \
		0, "module", "NAMES",                                                                                \
			"only " functions " a function of these modules, programs or libraries: ext4, virtio*", ',', \
			.rows = true                                                                                 \
	}
#define SELECT_ROWS_PID                                                                 \
	{ 'p', "pid", "PID", "only this thread, or those of that name", .rows = true }
#define SELECT_ROWS_COMM                                                                                             \
	{                                                                                                            \
		0, "comm", "NAMES", "only threads that have one of these names: a,b; shell patterns: kworker*", ',', \
			.rows = true                                                                                 \
	}

#define SELECT_NOTE \
	"--start, --stop and the options that choose calls work on what happened, before anything is added up: as if only that had been recorded. " \
	"upto-thin(1) writes the same as a trace. " \
	"A span begins and ends with an event, also if a time is given for it; --from and --to, where a command has them, cut in between.\n"

/* For commands that tell of conditions. */
#define SELECT_WHOSE \
	"FUNCTION alone is the kernel's, or if that has none of the name, a module's or a program's. kernel:FUNCTION, MODULE:FUNCTION and " \
	"PROGRAM:FUNCTION say whose it is. If several functions have the name, as static ones may, each of them is meant.\n"

struct selected {
	struct thin_options options;
	bool thorough;   /* what is written is to be as small as can be */
	bool of_all;     /* top's sums are to be those of all that ran in the spans, and in the threads */
	bool tells_held; /* whoever reads it has to know which calls are there only for others' sake */
	char *what, *start_what;
	bool *marks[12]; /* memory of those in the options */
	unsigned n_marks;
};

/*
 * Of all functions that have the names of a condition, those that it means where it does not say whose: the kernel's
 * own, if it has any. The recorder takes them, too, since it cannot know what programs will come.
 */
void functions_prefer_kernel(const struct names *names, bool *marks);

/* Is the command's option of that name one of those that choose? */
bool select_has(const struct command *command, const char *name);

/* Does the command line choose anything? */
bool select_is_asked(const struct args *args);

/* Does it choose by nothing but these options? They end with a NULL. */
bool select_is_only(const struct args *args, const char *const *names);

/* Does it choose rows? */
bool select_has_rows(const struct args *args);

/* Is what it says right, as far as that can be told without a trace? */
int select_check(const struct args *args, struct error *err);

/*
 * What it chooses, of that trace, whose thunks are not folded. For commands that choose rows only the filter is set.
 * Call selected_deinit() also after an error.
 */
int select_arg(const struct args *args, const struct session *session, struct selected *ret, struct error *err);
struct kfi_run;

/* What a run of a configuration of KFI chooses, but no earlier than that time. Likewise. */
int select_kfi(const struct kfi_run *run, const char *path, const struct session *session, uint64_t after_ns,
	       struct selected *ret, struct error *err);
void selected_deinit(struct selected *s);

/*
 * Marks of the functions that --functions and --not choose, while thunks are not folded. `folded`: what --not names is
 * not there any more, but where a thread began. The caller frees *ret, also after an error.
 */
int select_functions(const struct args *args, const struct names *names, bool folded, bool **ret, struct error *err);

/*
 * The times of a command's --start and --stop, which select_arg() has read; none if they were not given. Standard error
 * says if what was to stop it did not happen. The caller frees ret->list, also after an error.
 */
int select_intervals(const struct args *args, const struct session *session, const struct selected *selected,
		     struct intervals *ret, struct error *err);

/*
 * When a condition holds for the first time from after_ns on, or the #Nth. `option`: what it was given for, in
 * messages.
 */
int select_moment(const struct session *session, const char *option, const char *text, uint64_t after_ns,
		  uint64_t *ret_ns, struct error *err);

/* On standard error, what was to stop a span. */
void select_tell_unstopped(const struct args *args, bool jumps);

/* How small a trace is made. */
enum packing {
	PACK_QUICKLY,    /* it is memory, which nobody keeps */
	PACK_WELL,       /* somebody waits for it, and did not ask for a small one */
	PACK_THOROUGHLY,
};

/* Write what is chosen to a file that is open for writing, and empty. Errors of writing call it `name`. */
int select_write(const struct session *session, const struct thin_options *options, int fd, const char *name,
		 enum packing packing, struct thin_counts *ret, struct error *err);

#endif
