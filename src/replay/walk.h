/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Goes through the events of a trace, with guest time filled in for each. */
#ifndef UPTO_REPLAY_WALK_H
#define UPTO_REPLAY_WALK_H

#include "trace/reader.h"

/* Which events are asked for. */
struct span {
	uint64_t from_ns, to_ns; /* from <= ns < to */
	int cpu;                 /* -1: all */
};

#define SPAN_ALL ((struct span){ .to_ns = UINT64_MAX, .cpu = -1 })

/* True when the chunk may hold events of the span. */
bool span_has(const struct span *span, const struct chunk_header *h);

/*
 * An analysis that needs no order among chunks. `state` is one of the caller's
 * per thread. Returning a negative number ends the walk.
 */
struct chunk_visitor {
	bool brief; /* it takes batches as they come: neither written out nor timed (batch_complete()) */
	int (*begin)(void *state, const struct chunk_header *h, struct error *err);
	int (*batch)(void *state, struct batch *batch, struct error *err);
	int (*end)(void *state, struct error *err); /* may be NULL */
};

int walk_chunks(const struct reader *r, const struct span *span, const struct chunk_visitor *visitor, void **states,
		unsigned threads, struct error *err);

/* As many threads as there are CPUs to run them, 8 at most. */
unsigned walk_threads(void);

/* All events of the span in the order of time; those of one vCPU in their own order. */
struct merged;

struct merged *merged_new(const struct reader *r, const struct span *span);
void merged_free(struct merged *m);
/* Whole batches may come as they are (merged_batch()). */
void merged_set_brief(struct merged *m);

/*
 * Events of one vCPU that come before any other's; at least one. 1: they are set, and valid
 * until the next call; 0: the end; negative: error.
 */
int merged_run(struct merged *m, const struct event **ret_events, size_t *ret_n, unsigned *ret_cpu, struct error *err);
/* The same one by one; not both of the same `m`. */
int merged_next(struct merged *m, const struct event **ret_event, unsigned *ret_cpu, struct error *err);
/* The run given last is a batch whose phrases and times, but for the first and last event's, are not written; NULL: they are. */
struct batch *merged_batch(const struct merged *m);
/* What the times of the events given last were made with. */
const struct timebase *merged_timebase(const struct merged *m);
/* The task_struct that ran on a vCPU when what was given last came; 0: not known. */
uint64_t merged_task(const struct merged *m, unsigned cpu);

#endif
