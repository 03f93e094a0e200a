/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs a program in handlers over a trace: what its probes are in the trace, and the moments at which they fire, in the
 * order of guest time.
 */
#ifndef UPTO_ANALYSIS_SCRIPT_RUN_H
#define UPTO_ANALYSIS_SCRIPT_RUN_H

#include "analysis/events/event_decoder.h"
#include "analysis/history/history.h"
#include "analysis/processes/syscall_marks.h"
#include "handlers/machine.h"
#include "replay/walk.h"
#include "script_needs.h"
#include "trace/texts.h"

struct script_run_options {
	const struct session *session;
	struct script *script;
	const struct script_code *code;
	const struct script_needs *needs;
	const struct facts *facts; /* in the order of time; NULL: the program hears of none */
	const struct event_formats *formats;
	struct event_decoder *decoder;
	const struct texts *texts;     /* of system calls; NULL: likewise */
	const struct syscall_events *told; /* records that tell of system calls; NULL: the trace's events do */
	const struct syscalls *calls;  /* NULL: the program does not ask for a program's arguments (join()) */
	const struct history *history; /* NULL: it asks for neither spans nor waits */
	uint64_t from_ns, to_ns;
	/* the trace grows: it is replayed up to there, and what is nowhere in it may come */
	bool grows;
	uint64_t until_ns;
	uint64_t end_ns; /* of the trace */
	struct sink out;
	bool json;
	uint64_t began_ns; /* as in struct machine_host */
	bool make_index;   /* the trace is long: an index is worth to be made, if there is none */
	/* NULL: nobody. True: it is enough, and what there is is printed */
	bool (*is_enough)(void *context);
	void *enough_context;
};

struct script_outcome {
	struct machine_losses losses;
	int exit_code; /* what the program's exit() was given */
	uint64_t stacks; /* that had no room */
	char *passed_over; /* lines: of a handler's places that are nowhere, though others are; the caller frees it */
};

/* An error: a handler whose probes are all nowhere in the trace. */
int script_run(const struct script_run_options *o, struct script_outcome *ret, struct error *err);

/* Does the program hear of facts, of texts, of the history? */
bool script_wants_facts(const struct script *p, const struct script_needs *needs, const struct script_code *code);
bool script_wants_texts(const struct script *p);
bool script_wants_arguments(const struct script_code *code);
bool script_wants_history(const struct script *p);

/*
 * The same in steps, of a trace that grows: begin, then go on once or more, each time from where it ended, with what is
 * there then (`o` may be of another session), then end.
 */
struct script_runner;
struct script_runner *script_begin(const struct script_run_options *o);
int script_go_on(struct script_runner *r, const struct script_run_options *o, struct error *err);
/* The program has said exit(), or nobody waits for its answer any more. */
bool script_is_over(const struct script_runner *r);
int script_end(struct script_runner *r, struct script_outcome *ret, struct error *err);
void script_free_runner(struct script_runner *r);

#endif
