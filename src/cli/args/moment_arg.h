/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Moments by name where a command takes a time: --at panic, --from exec:login, --to log:Run. */
#ifndef UPTO_CLI_ARGS_MOMENT_ARG_H
#define UPTO_CLI_ARGS_MOMENT_ARG_H

#include "cli/command.h"
#include "replay/walk.h"

struct trace_arg;

#define MOMENT_NAMES "or end, panic, trigger, FUNCTION, exec:NAME, log:TEXT …"

/* Of a guest that booted several times. */
#define BOOT_OPTION                                                                                                   \
	{                                                                                                             \
		0, "boot", "N", "only this boot of a guest that was reset, or started another kernel: 1 is the first" \
	}

/* The time of --boot; all if it was not given. -1 with a message: the trace has no such boot. */
int boot_arg(const struct args *args, const struct reader *r, struct span *ret, struct error *err);

/*
 * When such a moment was, in that time; `option`, which named it, is for messages. -1 with a message: it is none, or
 * the trace does not have it.
 */
int moment_find(const struct trace_arg *t, const struct span *boot, const char *option, const char *text,
		uint64_t *ret, struct error *err);

/*
 * Where --at, --from or --to is no time but such a moment, put the time in its place. The trace is the first operand.
 * With --boot moments are that boot's, and times that are not given, or reach out of it, its begin and end. Returns an
 * exit status, with a message: it is no moment (EXIT_USAGE), or the trace does not have it, or it is not of that boot.
 */
int moments_resolve(struct args *args, struct error *err);

/*
 * Of a flight recorder: when what it waited for happened, and what that leaves on stacks is there. False: the trace is
 * of none.
 */
bool moment_trigger(const struct trace_arg *t, uint64_t *ret);

#endif
