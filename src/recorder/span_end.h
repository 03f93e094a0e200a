/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a span ends, found in the drain thread: it sees the events of all vCPUs, each in its order. For the recorder that waits
 * (waiting.h), which may go on to record for a while, but must not stop too early.
 */
#ifndef UPTO_RECORDER_SPAN_END_H
#define UPTO_RECORDER_SPAN_END_H

#include "function_events.h"

static inline bool functions_within(const struct functions *f, uint64_t from, uint64_t to)
{
	for (unsigned i = 0; i < f->count; i++)
		if (f->addr[i] >= from && f->addr[i] < to)
			return true;
	return false;
}

/* Before a span begins. `start` and `stop` stay the caller's, as do their functions; `again`: a span that ended may begin again. */
void span_end_await(const struct condition *start, const struct functions *starts, const struct condition *stop,
		    const struct functions *stops, bool again);

/*
 * In the drain thread. A span begins; where the start condition is an entry, and its event is surely still `to_come`, not before that. False: its
 * end is not looked for, and no event need be shown. `ordered`: there is but one vCPU.
 */
bool span_end_begin(uint64_t ns, bool to_come, bool ordered);
void span_end_event(const struct event *e);

/* Has it ended? From any thread; the drain thread may be behind. */
bool span_ended(void);

/* The recorder waits from now on. All events were shown; the next span has not ended before its first one is. */
void span_end_taken(void);

#endif
