/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each function did: how often it was entered, how long its own
 * instructions ran, and when it was entered first.
 */
#ifndef UPTO_ANALYSIS_FUNCTIONS_H
#define UPTO_ANALYSIS_FUNCTIONS_H

#include "replay/meter.h"
#include "replay/names.h"

/* What changes with each event: half a cache line. */
struct function_stat {
	uint64_t calls;         /* entries at the first instruction, by call, jump or interrupt; of a
	                           group: calls from outside or inside that lead into it */
	uint64_t self_insns;    /* instructions retired while control was in it, callees not counted */
	uint64_t self_ns;       /* guest time likewise, halted time not counted */
	uint64_t first_ns;      /* UINT64_MAX: never entered */
};
static_assert(sizeof(struct function_stat) == 32, "two of them share a cache line");

/* More of a function's first entry. */
struct function_first {
	uint64_t insns;
	uint64_t task;          /* that ran; 0: not known */
	uint32_t caller;        /* function that control came from */
	uint16_t cpu;
};

struct functions {
	struct function_stat *stats; /* names_count() of them */
	struct function_first *firsts; /* likewise */
	size_t count;
	uint64_t insns, ns;     /* sums of self_insns, self_ns */
	uint64_t halted_ns;
	uint64_t events;
};

/* Of nothing yet, to be added to. */
struct functions functions_new(size_t count);

int functions_analyse(const struct reader *r, const struct names *names, const struct span *span,
		      struct functions *ret, struct error *err);
void functions_deinit(struct functions *f);

/* The same for those who go through the events themselves: sums under way, one a thread. Their times are in ticks (ticks.h). */
struct function_sums;
struct function_sums *function_sums_new(const struct names *names, unsigned ticks_shift);
void function_sums_free(struct function_sums *s);

/* Add the sums of one thread to `sum`, in ticks still; once all are: make nanoseconds of them. */
void function_sums_add(struct function_sums *s, struct functions *sum);
void functions_round(struct functions *sum, unsigned ticks_shift);

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

#endif
