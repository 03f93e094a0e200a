/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Goes through the events of a trace, with guest time filled in for each. */
#ifndef UPTO_REPLAY_WALK_H
#define UPTO_REPLAY_WALK_H

#include "trace/reader.h"

/* Selects events by time and vCPU. */
struct span {
	uint64_t from_ns, to_ns; /* from <= ns < to */
	int cpu;                 /* -1: all */
};

#define SPAN_ALL ((struct span){ .to_ns = UINT64_MAX, .cpu = -1 })

static inline bool span_is_all(const struct span *span)
{
	return !span->from_ns && span->to_ns == UINT64_MAX && span->cpu < 0;
}

/* Who looks back from somewhere, further and further: how far next, after so many nanoseconds. */
static inline uint64_t longer_look_back(uint64_t ns)
{
	return ns < UINT64_MAX / 4 ? 4 * ns : UINT64_MAX;
}

/* May the chunk have events of the span? */
bool span_has(const struct span *span, const struct chunk_header *h);

/*
 * Callbacks of an analysis that needs no order among chunks. Each thread has one of
 * the caller's states. A negative result ends the walk.
 */
struct chunk_visitor {
	bool brief; /* it gets batches as they are decoded, without batch_complete() */
	int (*begin)(void *state, const struct chunk_header *h, struct error *err);
	int (*batch)(void *state, struct batch *batch, struct error *err);
	int (*end)(void *state, struct error *err); /* may be NULL */
};

int walk_chunks(const struct reader *r, const struct span *span, const struct chunk_visitor *visitor, void **states,
		unsigned threads, struct error *err);

/* One thread for each CPU of the host, at most 8. */
unsigned walk_threads(void);

/* All events of the span in the order of time. Events of one vCPU keep their order. */
struct merged;

struct merged *merged_new(const struct reader *r, const struct span *span);
void merged_free(struct merged *m);
/* Allow whole batches without batch_complete() (merged_batch()). */
void merged_set_brief(struct merged *m);

/*
 * The next events of one vCPU that come before any other vCPU's; at least one. Returns 1
 * if there are any, which are valid until the next call; 0 at the end; negative: error.
 */
int merged_run(struct merged *m, const struct event **ret_events, size_t *ret_n, unsigned *ret_cpu, struct error *err);
/* The next event. Use either this or merged_run() with one `m`. */
int merged_next(struct merged *m, const struct event **ret_event, unsigned *ret_cpu, struct error *err);
/*
 * The batch that is the last run, if its phrases and times are not written, except the times of its first and last
 * event; NULL: all are written.
 */
struct batch *merged_batch(const struct merged *m);
/* The time base of the events in the last run. */
const struct timebase *merged_timebase(const struct merged *m);
/* The task_struct that ran on a vCPU at the last run or event; 0: not known. */
uint64_t merged_task(const struct merged *m, unsigned cpu);

#endif
