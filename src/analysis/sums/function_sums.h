/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Adds up what functions do (functions.h), event by event. Each host thread has its
 * own sums. Their times are in ticks (ticks.h).
 */
#ifndef UPTO_ANALYSIS_FUNCTION_SUMS_H
#define UPTO_ANALYSIS_FUNCTION_SUMS_H

#include "functions.h"

struct function_sums;
struct function_sums *function_sums_new(const struct session *session, unsigned ticks_shift);
void function_sums_free(struct function_sums *s);

/* Finish the batches so far: the next ones come from another decoder. */
void function_sums_settle(struct function_sums *s);
/* Add the sums of one thread to `sum` (functions_add()). */
void function_sums_add(struct function_sums *s, struct functions *sum);

/*
 * Time in a thunk whose caller is not known. Thunks are folded into their callers (names.h), but a chunk may begin in a
 * thunk, or an interrupt from before the chunk may return into one. The time counts for the thunk until the caller is
 * found.
 */
struct orphan {
	size_t chunk;        /* number of the chunk … */
	uint64_t at_insns;   /* … and the vCPU's counter where it begins */
	uint32_t thunk;
	uint64_t insns, ticks; /* its time */
	/* not the batch's begin: the first interrupt to return into a thunk that cut in before the batch … */
	bool came_back;
	uint64_t task, from; /* … there */
	uint32_t parent;     /* who called the thunk; set when all chunks are counted */
};

/*
 * The function that an interrupt cut into. When control comes back into a thunk, only this tells who called the thunk.
 */
struct cut_in {
	uint64_t task, from;
	uint32_t function;
	struct orphan *orphan; /* it is the thunk of that one; NULL: it is no orphan */
};

/* The state of a vCPU. */
struct function_lane {
	struct name_cache *cache;
	uint64_t task;
	struct space_view view;
	uint32_t function;
	struct span span;
	struct span ticks_span;
	struct meter meter; /* in ticks */
	uint16_t cpu;
	bool is_other;         /* the task is of a thread that is not asked for … */
	uint64_t known_task;   /* … as is known of this one; UINT64_MAX: of none */
	struct orphan *orphan; /* the orphan that control is in; NULL: none */
	/* for the first return into a thunk that cut_in does not know; NULL: it was, or nobody asks */
	struct orphan *spare;
	struct orphan *returned; /* the orphan that control came back into in this batch, … */
	uint64_t returned_insns, returned_ticks; /* … and what its thunk had before */
	/*
	 * function to whose first instruction the last interrupt returned, though it had not been entered: what led …
	 */
	uint32_t unentered;
	uint64_t unentered_insns; /* … there tells only as that instruction runs … */
	uint32_t unentered_from;  /* … and control was in this one */
	struct cut_in cut_in[32]; /* the last ones */
	unsigned n_cut_in;
};
/*
 * `cache` is that of the host thread. `meter`, in ns, was set by events with times from `timebase`; NULL: it is at a
 * clock.
 */
void function_lane_begin(struct function_lane *lane, const struct function_sums *s, struct name_cache *cache,
			 unsigned cpu, uint64_t task, uint64_t place, const struct meter *meter,
			 const struct timebase *timebase);
/* An interrupt cut into a function. */
void function_lane_cut_in(struct function_lane *lane, const struct cut_in *cut);
/* Add events, at least one. Only the last may carry a clock, as in a batch. Their ns need not be set. */
void function_sums_count(struct function_sums *s, struct function_lane *lane, const struct timebase *timebase,
			 const struct event *events, size_t n);
/*
 * Add a batch as it was decoded. Phrases that come again and again are only counted, up to function_sums_settle().
 * Until then all batches must come from one decoder.
 */
void function_sums_count_batch(struct function_sums *s, struct function_lane *lane, struct batch *batch);

#endif
