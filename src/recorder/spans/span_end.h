/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a span ends, found in the drain thread: it sees the events of all vCPUs, each in its order. For the recorder
 * that waits (waiting.h), which may go on to record for a while, but must not stop too early.
 */
#ifndef UPTO_RECORDER_SPAN_END_H
#define UPTO_RECORDER_SPAN_END_H

#include <stddef.h>

#include "function_events.h"

static inline bool functions_within(const struct functions *f, uint64_t from, uint64_t to)
{
	for (unsigned i = 0; i < f->count; i++)
		if (f->addr[i] >= from && f->addr[i] < to)
			return true;
	return false;
}

enum { AHEAD_NS = 20000000 }; /* a time comes between two looks at the clock: a span begins so much earlier */

/* What is waited for. Of several, each one's start counts once the one before is over. */
struct awaited {
	struct condition start, stop;
	struct functions starts, stops; /* under the recorder's lock, and constant while a kernel runs */
	bool every;    /* when it has stopped, it starts again */
	bool unknown;  /* only the whole trace can tell what is to start it */
	bool ends;     /* what stops it is found here */
};

/* Before a span begins: that many, which stay the caller's. */
void span_end_await(const struct awaited *list, size_t n);

/*
 * In the drain thread. A span begins; where the start condition is an entry, and its event is surely still `to_come`,
 * not before that. False: its end is not looked for, and no event need be shown. `ordered`: there is but one vCPU.
 */
bool span_end_begin(uint64_t ns, bool to_come, bool ordered);
void span_end_event(const struct event *e);

/* Has it ended? From any thread; the drain thread may be behind. */
bool span_ended(void);

/*
 * All events were shown, and none comes meanwhile: number of what has begun last, or, if that has ended, is waited for;
 * SIZE_MAX: nothing.
 */
size_t span_end_next(void);

/* Likewise. The recorder waits from now on; the next span has not ended before its first event is shown. */
void span_end_taken(void);

#endif
