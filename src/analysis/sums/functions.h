/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each function did: how often it was entered, how long its own
 * instructions ran, and when it was entered first.
 */
#ifndef UPTO_ANALYSIS_FUNCTIONS_H
#define UPTO_ANALYSIS_FUNCTIONS_H

#include "replay/meter.h"
#include "replay/names.h"
#include "replay/session.h"

/* The sums that change with each event. They fit into half a cache line. */
struct function_stat {
	uint64_t calls;         /* entries at the first instruction, by call, jump or interrupt; of a
	                           group: calls from outside or inside that lead into it */
	uint64_t self_insns;    /* instructions retired while control was in it, without callees */
	uint64_t self_ns;       /* guest time in it, without callees and without halted time */
	uint64_t first_ns;      /* UINT64_MAX: never entered */
};
static_assert(sizeof(struct function_stat) == 32, "two of them share a cache line");

/* More about a function's first entry. */
struct function_first {
	uint64_t insns;
	uint64_t task;          /* the task that ran; 0: not known */
	uint32_t caller;        /* the function that control came from */
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

/* Empty sums for that many functions. */
struct functions functions_new(size_t count);
void functions_deinit(struct functions *f);

/* Keep the earlier entry of both. */
void function_take_first(struct function_stat *stat, struct function_first *first, uint64_t ns,
			 const struct function_first *other);

/*
 * Both are for sums whose times are in ticks (ticks.h): add a part; when all parts are added, convert to nanoseconds.
 */
void functions_add(struct functions *sum, const struct functions *part);
void functions_round(struct functions *sum, unsigned ticks_shift);

#endif
