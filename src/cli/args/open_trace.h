/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A trace that is open, and what commands know of it. */
#ifndef UPTO_CLI_ARGS_OPEN_TRACE_H
#define UPTO_CLI_ARGS_OPEN_TRACE_H

#include "replay/fold.h"
#include "replay/index.h"
#include "replay/names.h"
#include "replay/session.h"

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

/* Open a trace, or what is one once it is read (program_calls.h), for its reader alone. */
int open_reader(const char *path, struct reader **ret, struct error *err);

/* Open a trace, whatever the command line says. */
int open_trace(const char *path, struct trace_arg *ret, struct error *err);
void trace_arg_close(struct trace_arg *t);

/* Its parts have been moved: the session finds them anew, and forgets what was set in it. */
void trace_arg_moved(struct trace_arg *t);

/*
 * Open the trace's index for the session. If the trace is long and has no index, make one, if it can
 * be written beside the trace. Without one, commands work likewise.
 */
void trace_arg_index(struct trace_arg *t);
/* The same, but do not make one. */
void trace_arg_open_index(struct trace_arg *t);
/* Is the trace long, and complete? */
bool is_worth_index(const struct trace_arg *t);
/* Is it long? One without an end may grow, and needs another index then. */
bool is_worth_index_now(const struct trace_arg *t);

#endif
