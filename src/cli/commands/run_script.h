/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `upto run` of a program in handlers: -e PROGRAM [ARG…] TRACE, FILE.bt [ARG…] TRACE. */
#ifndef UPTO_CLI_COMMANDS_RUN_SCRIPT_H
#define UPTO_CLI_COMMANDS_RUN_SCRIPT_H

#include "cli/args/moment_arg.h"
#include "cli/command.h"
#include "handlers/script.h"
#include "trace/event_formats.h"

#define SCRIPT_OPTION                                                                                                 \
	{                                                                                                             \
		'e', "program", "PROGRAM", "a program in handlers, in bpftrace's language, or a file of one: FILE.bt" \
	}

/* clang-format off */
#define SCRIPT_OPTIONS                                                                                          \
	SCRIPT_OPTION, { 0, "list", NULL, "the programs that come with upto, of which each runs by its name" }, \
	{ 'f', "follow", NULL, "the trace is being recorded: go on with it until the guest or the program ends" }, \
	{ 0, "json", NULL, "what the program prints as lines of JSON, as bpftrace -f json has them" },          \
	{ 0, "from", "TIME", "only what happens from then on: 1.5s, 20ms; " MOMENT_NAMES },                       \
	{ 0, "to", "TIME", "only what happens before this guest time; likewise" }
/* clang-format on */

/*
 * What a program needs to be recorded that is not in these formats (NULL: all), as the options --probe and --event have
 * it; "": nothing. `text`: as in run_script_read().
 */
int run_script_asks(const char *text, const char *const *parameters, size_t n, const struct event_formats *formats,
		    struct buf *ret_probes, struct buf *ret_events, struct error *err);

/* The text, or a file whose name ends with .bt. Call script_free() also after an error. */
int run_script_read(const char *text, const char *const *parameters, size_t n, struct script *ret, struct error *err);

/*
 * Read the program, and have it follow a trace that is being recorded (follow_script.h). `guest_has_ended`: as there.
 * Returns an exit status: the program's, or EXIT_FAILED, and then *err is set.
 */
int run_script_follow(const struct args *args, bool (*guest_has_ended)(void), struct error *err);

/* Why record -e's program has its answer only when the guest has ended: see analysis/programs/script_live.h. */
int run_script_is_live(const char *text, bool *ret, const char **ret_why, struct error *err);

/* The trace becomes the first operand; behind it is the program's file, if it is one, and what it is given. */
int run_script_prepare(struct args *args, struct error *err);

/* Likewise. */
int run_script(const struct args *args, struct error *err);

#endif
