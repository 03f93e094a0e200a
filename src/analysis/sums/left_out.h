/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls that one call made and that are not shown one by one: a sum for each function. */
#ifndef UPTO_ANALYSIS_LEFT_OUT_H
#define UPTO_ANALYSIS_LEFT_OUT_H

#include <stddef.h>
#include <stdint.h>

struct left_out_sum {
	uint32_t function;
	uint64_t calls;
	uint64_t duration_ns;  /* from entry to exit, added up */
	uint64_t ns, insns;    /* that the thread itself ran in them, callees too */
};

struct left_out {
	struct left_out_sum *list;
	size_t count, cap;
	size_t last;           /* the sum that was added to last */
};

/* Add the calls of one sum. */
void left_out_add(struct left_out *l, const struct left_out_sum *more);
/* Put the functions with the longest durations first. */
void left_out_sort(struct left_out *l);
/* All functions together; .function is not set. */
struct left_out_sum left_out_total(const struct left_out *l);
/* Forget all sums, but keep the memory for others. */
void left_out_clear(struct left_out *l);
void left_out_deinit(struct left_out *l);

#endif
