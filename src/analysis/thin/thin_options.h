/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which spans and calls remain of a trace that is thinned (thin.h), and what became of the others. */
#ifndef UPTO_ANALYSIS_THIN_OPTIONS_H
#define UPTO_ANALYSIS_THIN_OPTIONS_H

#include "select/condition.h"

struct left_pairs;
struct map;

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
	/* marks: functions whose calls are no levels of filter.depth, since readers fold them; NULL: all are */
	const bool *no_levels;
	/* marks: functions that are folded into their callers where top shows what remains; NULL: none */
	const bool *thunks;
	/* gets what is left out, of which the caller makes sums; NULL: top shows only what remains */
	struct left_pairs *left_out;
	struct map *held;       /* gets the calls that remain and were not chosen (held_calls.h); NULL */
	const struct map *held_before; /* those that the trace has already; NULL: none */
	const char *what;       /* the options in words, for the trace's META */
	bool unnamed;           /* it does not say so: the trace is thinned again, which does */
	const char *start_what; /* the start condition in words, for messages; NULL: `what` */
	bool is_moment;         /* … which is no start, but a moment that another option asks for: just then */
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

/* "duration" … */
const char *thin_reason_name(enum thin_reason reason);

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

#endif
