/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guest time in ticks: 2^shift ticks are a nanosecond. So many short runs of a
 * function between two clocks add up without being rounded each time.
 */
#ifndef UPTO_ANALYSIS_TICKS_H
#define UPTO_ANALYSIS_TICKS_H

#include "trace/reader.h"
#include "trace/timebase.h"

/* The shift: that of a time base, or less if the time of all vCPUs together would not fit into 63 bits. */
unsigned ticks_shift(const struct reader *r);

/* Convert nanoseconds to ticks. A time that does not fit becomes UINT64_MAX, which means never. */
static inline uint64_t ticks_of(uint64_t ns, unsigned shift)
{
	return ns >> (63 - shift) ? UINT64_MAX : ns << shift;
}

/* A time base in ticks: the time of an instruction count is base + insns * mult. */
struct pace {
	uint64_t mult; /* ticks per instruction */
	uint64_t base; /* ticks at instruction 0, if this pace had held from there */
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
