/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guest time between two clocks: as clock sources of the kernel do it
 * (include/linux/clocksource.h), by a multiplication and a shift. What passes
 * between events is then the same multiple of their instructions, wherever
 * between the clocks they are.
 */
#ifndef UPTO_TRACE_TIMEBASE_H
#define UPTO_TRACE_TIMEBASE_H

#include <stdint.h>

enum { TIMEBASE_SHIFT = 16 };

struct timebase {
	uint64_t insns, ns;           /* at the clock before */
	uint64_t mult;                /* nanoseconds an instruction << TIMEBASE_SHIFT; 0: not known, or time stood still */
	uint64_t end_insns, end_ns;   /* at the next clock; UINT64_MAX: not known, or no instruction later */
};

/* Until there is another clock, it is always as late as that one. */
static inline struct timebase timebase_from(uint64_t insns, uint64_t ns)
{
	return (struct timebase){ .insns = insns, .ns = ns, .end_insns = UINT64_MAX };
}

/* The next clock: in a damaged trace it may be anything. */
static inline void timebase_end(struct timebase *t, uint64_t insns, uint64_t ns)
{
	uint64_t passed = ns - t->ns;

	if (insns <= t->insns || passed >> (64 - TIMEBASE_SHIFT))
		return;
	t->mult = (passed << TIMEBASE_SHIFT) / (insns - t->insns);
	t->end_insns = insns;
	t->end_ns = ns;
}

/* What stands at a clock has its time, whatever was rounded off. */
static inline uint64_t timebase_ns(const struct timebase *t, uint64_t insns)
{
	uint64_t ns = t->ns + ((insns - t->insns) * t->mult >> TIMEBASE_SHIFT);

	return insns >= t->end_insns ? t->end_ns : ns;
}

#endif
