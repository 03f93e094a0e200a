/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Verifies that nothing is missing between two events of a vCPU. In kernel code every transfer out of a function is an
 * event, and so is every transfer to user code and back. So the next event must be in the function that the event
 * before led to.
 */
#ifndef UPTO_ANALYSIS_CHECK_FLOW_H
#define UPTO_ANALYSIS_CHECK_FLOW_H

#include "findings.h"

enum flow_where {
	FLOW_WITHIN, /* within the kernel */
	FLOW_ACROSS, /* between the kernel and user code */
};

struct flow_check {
	const struct reader *reader;
	const bool *thunks;           /* by function; NULL: their steps are recorded, as of other functions */
	uint64_t joints;              /* pairs of events that were looked at */
	struct flow_break {           /* pairs that do not join: */
		uint64_t count;
		struct check_place first;
		/* functions: the one that control was led to, and the one that the next event is in */
		uint32_t left, found;
	} breaks[2];                  /* by enum flow_where */
};

/* Is it known where the event is, and where the event before it led to? */
static inline bool flow_can_tell(const struct event *e, uint64_t place)
{
	return place && e->kind <= EVENT_INTERRUPT && e->kind != EVENT_ARRIVE;
}

/*
 * Check the next event. `place` is where the event before it led to. Two places in user code are not compared, since
 * not every jump there is an event.
 */
void flow_add(struct flow_check *f, struct name_cache *cache, const struct event *e, uint64_t place,
	      const struct check_place *at);

void flow_end(const struct flow_check *f, const struct names *names, struct check *c);

#endif
