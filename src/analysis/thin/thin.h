/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes what remains of a trace once spans and calls were chosen, as a trace: that of `upto thin`, of filters while
 * recording, and of the same options while reading.
 *
 * Outside the spans nothing remains; a gap tells of it. A limit makes the spans shorter: what it cuts off is outside.
 * Within them, a call that is not chosen loses its events, from its entry and its exit; what it called may remain. A
 * frame from which another one is entered or left by one event remains with that one, so that returns match. Jumps that
 * neither enter nor leave a call are left out: where control is within a call is known to the call only.
 *
 * What is lost so is kept in sums (trace/left_sums.h): of each function, how often it was called and how long it ran,
 * and of each pair of caller and function. With them top gives the same figures as before.
 */
#ifndef UPTO_ANALYSIS_THIN_H
#define UPTO_ANALYSIS_THIN_H

#include "replay/session.h"
#include "select/condition.h"
#include "trace/builder.h"

struct left_pairs;
struct map;
struct intervals;

/* A condition with its function as marks by number; NULL: it is of another kind. */
struct thin_condition {
	struct condition condition;
	const bool *functions;
};

struct thin_filter {
	/* from entry to exit, also while others ran; 0: any. A call that has no end is as long as can be */
	uint64_t min_duration_ns, max_duration_ns;
	bool no_interrupts, only_interrupts;       /* interrupts, and what is called in them */
	const bool *functions;  /* marks: only calls of these; NULL: of all */
	const bool *not;        /* marks: no calls of these; NULL */
	const bool *below;      /* marks: only what is called in calls of these, and they themselves; NULL: anything */
	/* levels below a system call, an interrupt, a thread's begin, or a call of `below`; 0: all */
	uint64_t depth;
	const bool *threads;    /* marks by number of thread: only theirs; NULL: all */
};

/*
 * A moment between two events, and its number among all events of the trace in the order of replay. Time goes on there.
 */
struct thin_moment {
	uint64_t event, ns;
	uint64_t frame;         /* number of the last frame that is entered before it */
};

/* What is between two moments. */
struct thin_cut {
	struct thin_moment from, to;
};

struct thin_options {
	struct thin_condition start, stop; /* of kind NONE: the trace's begin and end */
	bool every;             /* begin again after each stop */
	uint64_t after_ns;      /* what happens earlier starts and stops nothing … */
	uint64_t start_hits;    /* … but the start condition held so often */
	uint64_t before_ns;     /* a span begins so long before its start */
	uint64_t limit;         /* at most so many events remain; 0: all */
	bool keep_last;         /* of these the last, not the first */
	const struct thin_cut *cut; /* only what is within it; NULL: all */
	struct thin_filter filter;
	/* marks: functions that are folded into their callers where top shows what remains; NULL: none */
	const bool *thunks;
	/* gets what is left out, of which the caller makes sums; NULL: top shows only what remains */
	struct left_pairs *left_out;
	struct map *held;       /* gets the calls that remain and were not chosen (held_calls.h); NULL */
	const struct map *held_before; /* those that the trace has already; NULL: none */
	const char *what;       /* the options in words, for the trace's META */
	bool unnamed;           /* it does not say so: the trace is thinned again, which does */
	const char *start_what; /* the start condition in words, for messages; NULL: `what` */
};

/* Why calls were left out: the first that applies. */
enum thin_reason {
	THIN_DURATION,
	THIN_INTERRUPT,
	THIN_NO_INTERRUPT,
	THIN_FUNCTION,
	THIN_DEPTH,
	THIN_THREAD,
	THIN_REASONS
};

struct thin_counts {
	uint64_t calls, left_out[THIN_REASONS]; /* within the spans */
	uint64_t events;        /* that remain */
	size_t spans;
	uint64_t spans_ns;      /* all of them together */
	uint64_t stop_ns;       /* where the last of them ends */
	bool is_cut;            /* there were more than the limit: only this is left: */
	struct thin_cut cut;
	bool unstopped;         /* that is the trace's end, since what was to stop it did not happen */
	bool start_jumps, stop_jumps; /* the function whose exit was waited for was left by a jump to another one */
};

/* Words behind "did not happen", if the function whose exit was waited for `jumps` instead; else nothing. */
static inline const char *thin_why_not(bool jumps)
{
	return jumps ? ": it does not return, but jumps elsewhere ('upto calls' shows where to); wait for the entry there"
		     : "";
}

/* When the spans begin and end. Fails if none does. The caller frees ret->list, also after an error. */
int thin_find_spans(const struct session *session, const struct thin_options *options, struct intervals *ret,
		    struct error *err);

/* "duration" … */
const char *thin_reason_name(enum thin_reason reason);

/*
 * The sink gets all chunks, END included. The session's thunks must not be folded. Fails if no span begins: *ret is
 * then set as far as it was counted.
 */
int thin(const struct session *session, const struct thin_options *options, const struct builder_sink *sink,
	 struct thin_counts *ret, struct error *err);

#endif
