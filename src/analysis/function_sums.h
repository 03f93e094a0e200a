/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What functions do (functions.h), added up event by event: one of these a
 * thread. Their times are in ticks (ticks.h).
 */
#ifndef UPTO_ANALYSIS_FUNCTION_SUMS_H
#define UPTO_ANALYSIS_FUNCTION_SUMS_H

#include "functions.h"

struct function_sums;
struct function_sums *function_sums_new(const struct names *names, unsigned ticks_shift);
void function_sums_free(struct function_sums *s);

/* The batches that come next are another decoder's. */
void function_sums_settle(struct function_sums *s);
/* Add the sums of one thread to `sum` (functions_add()). */
void function_sums_add(struct function_sums *s, struct functions *sum);

/* Where a vCPU is. */
struct function_lane {
	struct name_cache *cache;
	uint64_t task;
	struct space_view view;
	uint32_t function;
	struct span span;
	struct span ticks_span;
	struct meter meter; /* in ticks */
	uint16_t cpu;
};
/* `cache`: the thread's. `meter`, in ns, was set by events that had their times from `timebase`; NULL: it is at a clock. */
void function_lane_begin(struct function_lane *lane, const struct function_sums *s, struct name_cache *cache, unsigned cpu,
			 uint64_t task, uint64_t place, const struct meter *meter, const struct timebase *timebase);
/* At least one event; only the last may have a clock, as in a batch. Their ns need not be set. */
void function_sums_take(struct function_sums *s, struct function_lane *lane, const struct timebase *timebase,
			const struct event *events, size_t n);
/*
 * A batch as it comes. Of phrases that come again and again only how often they did is kept, until
 * function_sums_settle(): up to there all batches must be of one decoder.
 */
void function_sums_take_batch(struct function_sums *s, struct function_lane *lane, struct batch *batch);

#endif
