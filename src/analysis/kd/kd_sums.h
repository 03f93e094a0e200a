/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums of a log's calls by function, as kd shows them.
 *
 * By default calls lie in each other as kd_nest.h says: local time is what ran in the function itself, never below 0,
 * and sub-time what its callees took and the interrupts that cut in. Time − sub-time − local time is the time of other
 * threads. As kd has it, sub-time is the durations of all rows whose caller has the function's name, and local time is
 * the rest, which can be negative. If no call is missing, and neither interrupts nor other threads cut in, both are the
 * same.
 *
 * Calls without an exit count, but have no time. The average is that of the calls that have one; as kd has it, of all.
 * Functions of the same name are one.
 */
#ifndef UPTO_ANALYSIS_KD_SUMS_H
#define UPTO_ANALYSIS_KD_SUMS_H

#include "kfi/log.h"

/* What a function called. */
struct kd_sub {
	uint32_t function;
	uint64_t count, total_ns;
};

struct kd_sum {
	uint32_t function;    /* number in the log's names */
	uint64_t count;
	uint64_t timed;       /* of these, calls that have a duration */
	uint64_t total_ns, average_ns;
	uint64_t min_ns, max_ns; /* 0 if none has a duration */
	uint64_t sub_ns;
	int64_t local_ns;
	const struct kd_sub *subs; /* the largest total first; of equal ones, the largest count, then by name */
	size_t n_subs;
};

struct kd_sums {
	struct kd_sum *list;  /* functions that have calls, in no order */
	size_t count;
	struct kd_sub *subs;
};

void kd_sums_analyse(const struct kfi_log *log, bool as_kd, struct kd_sums *ret);
void kd_sums_deinit(struct kd_sums *sums);

#endif
