/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guest time in fractions of a nanosecond, 2^shift ticks each: what a function
 * runs many times between two clocks adds up without being rounded each time.
 */
#ifndef UPTO_ANALYSIS_TICKS_H
#define UPTO_ANALYSIS_TICKS_H

#include "trace/reader.h"
#include "trace/timebase.h"

/* As fine as a time base, if the time of all vCPUs together is then within 63 bits. */
unsigned ticks_shift(const struct reader *r);

/* UINT64_MAX: never, or as good as. */
static inline uint64_t ticks_of(uint64_t ns, unsigned shift)
{
	return ns >> (63 - shift) ? UINT64_MAX : ns << shift;
}

/* What a time base is in ticks. */
struct pace {
	uint64_t mult; /* ticks an instruction */
	uint64_t base; /* ticks at instruction 0, if it had been so from there on */
};

static inline struct pace pace_of(const struct timebase *t, unsigned shift)
{
	uint64_t mult = t->mult >> (TIMEBASE_SHIFT - shift);

	return (struct pace){ .mult = mult, .base = (t->ns << shift) - t->insns * mult };
}

static inline uint64_t pace_ticks(const struct pace *pace, uint64_t insns)
{
	return pace->base + insns * pace->mult;
}

#endif
