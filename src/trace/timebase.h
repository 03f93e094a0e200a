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
	uint64_t insns, ns; /* at the clock before */
	uint64_t mult;      /* nanoseconds an instruction << TIMEBASE_SHIFT; 0: not known, or time stood still */
};

static inline uint64_t timebase_ns(const struct timebase *t, uint64_t insns)
{
	return t->ns + ((insns - t->insns) * t->mult >> TIMEBASE_SHIFT);
}

/* The next clock: in a damaged trace it may be anything. */
static inline void timebase_set_mult(struct timebase *t, uint64_t insns, uint64_t ns)
{
	uint64_t passed = ns - t->ns;

	t->mult = insns > t->insns && !(passed >> (64 - TIMEBASE_SHIFT)) ? (passed << TIMEBASE_SHIFT) / (insns - t->insns) : 0;
}

#endif
