/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opening the TRACE operand, and the options that choose a part of it. */
#ifndef UPTO_CLI_TRACE_ARG_H
#define UPTO_CLI_TRACE_ARG_H

#include "command.h"
#include "replay/index.h"
#include "replay/names.h"
#include "replay/walk.h"

#define HELP_OPTION { 'h', "help", NULL, "show this help" }
#define CLOCK_OPTION { 0, "clock", "insns|ns", "what percentages and order go by (default: insns)" }
#define SPAN_OPTIONS                                                                    \
	{ 0, "from", "TIME", "only what happens at or after this guest time: 1.5s, 20ms" }, \
	{ 0, "to", "TIME", "only what happens before this guest time" },                \
	{ 0, "cpu", "N", "only this vCPU" }

struct trace_arg {
	struct reader *reader;
	struct names names;
	struct threads threads;
};

/*
 * Open the trace. What is missing from it (cut short, events lost) is said on
 * standard error, once, so that no answer is taken for more than it is.
 */
int trace_arg_open(const char *path, struct trace_arg *ret, struct error *err);
void trace_arg_close(struct trace_arg *t);

/*
 * A list of names, a,b,…: a mark for each function of one of them, by number;
 * *ret is NULL when the list is.
 */
int functions_arg(const char *list, const struct names *names, bool **ret, struct error *err);

/*
 * The trace's index, made if it is long and has none yet, and if that can be
 * kept beside it. NULL: it goes without.
 */
struct index *index_for(const struct trace_arg *t);
/* Is the trace long, and will not grow? */
bool is_worth_index(const struct trace_arg *t);

/* For the descriptions of commands that use it. */
#define INDEX_NOTE                                                                      \
	"top --total, tree, stack and calls --function make TRACE.index beside a long trace, and answer sooner from then " \
	"on. It may be removed at any time.\n"

#define ONLY_OPTIONS                                                                    \
	{ 0, "kernel", NULL, "only functions of the kernel and its modules" },          \
	{ 0, "user", NULL, "only functions of programs and libraries" },                \
	{ 0, "module", "NAME", "only functions of this module, program or library: ext4, libc.so.6" }

/* Of which code the user wants to see functions. */
struct only {
	bool kernel, user;    /* neither: both, and what is neither */
	const char *object;   /* NULL: any */
};

int only_arg(const struct args *args, const struct names *names, struct only *ret, struct error *err);
bool only_has(const struct only *only, const struct names *names, uint32_t function);

/* Is it guest time, not instructions, that the answer goes by? */
int clock_arg(const struct args *args, bool *ret_by_ns, struct error *err);

int span_arg(const struct args *args, struct span *ret, struct error *err);

#endif
