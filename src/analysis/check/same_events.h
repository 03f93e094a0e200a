/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares a trace with one of the same guest that was run again, or of a part of that. */
#ifndef UPTO_ANALYSIS_SAME_EVENTS_H
#define UPTO_ANALYSIS_SAME_EVENTS_H

#include <stdbool.h>

#include "replay/walk.h"

/* What is told of an event. */
struct event_spot {
	enum event_kind kind; /* NONE: there is no event */
	uint64_t ns, insns, from, target;
};

struct same_events {
	uint64_t compared; /* events that are equal, up to the first that is not */
	bool differs;
	unsigned cpu;                        /* whose events differ … */
	struct event_spot in_whole, in_part; /* … the first of them */
};

/*
 * Is each event of `part` also in `whole`, at the same instruction and in the same order, and does it lack none from
 * its first one on up to until_ns (UINT64_MAX: up to the end)? Equal is what digest.h says; where a part begins and
 * ends, and what recorders make up (clocks, gaps, arrivals), do not count. Errors name the file.
 */
int same_events_compare(const struct reader *whole, const struct reader *part, uint64_t until_ns,
			struct same_events *ret, struct error *err);

#endif
