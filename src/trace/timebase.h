/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guest time between two clocks, by a multiplication and a shift, as the kernel's
 * clock sources do it (include/linux/clocksource.h). So the time between two events
 * is the same multiple of the instructions between them, anywhere between the two
 * clocks.
 */
#ifndef UPTO_TRACE_TIMEBASE_H
#define UPTO_TRACE_TIMEBASE_H

#include <stdint.h>

enum { TIMEBASE_SHIFT = 16 };

struct timebase {
	uint64_t insns, ns;           /* at the clock before */
	/* nanoseconds per instruction << TIMEBASE_SHIFT; 0: not known, or time stood still */
	uint64_t mult;
	/* at the next clock; end_insns is UINT64_MAX if that is not known, or no instruction later */
	uint64_t end_insns, end_ns;
};

/* A time base that begins at a clock. Until timebase_end() every event has the time of this clock. */
static inline struct timebase timebase_from(uint64_t insns, uint64_t ns)
{
	return (struct timebase){ .insns = insns, .ns = ns, .end_insns = UINT64_MAX };
}

/* Set the next clock. In a damaged trace it may be anything; one that is not later is ignored. */
static inline void timebase_end(struct timebase *t, uint64_t insns, uint64_t ns)
{
	uint64_t passed = ns - t->ns;

	if (insns <= t->insns || passed >> (64 - TIMEBASE_SHIFT))
		return;
	t->mult = (passed << TIMEBASE_SHIFT) / (insns - t->insns);
	t->end_insns = insns;
	t->end_ns = ns;
}

/* The time of an event. At the next clock it is exactly that clock's time, without the rounding. */
static inline uint64_t timebase_ns(const struct timebase *t, uint64_t insns)
{
	uint64_t ns = t->ns + ((insns - t->insns) * t->mult >> TIMEBASE_SHIFT);

	return insns >= t->end_insns ? t->end_ns : ns;
}

#endif
