/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums up how long functions ran, including their callees and the interrupts that
 * came in them. A recursion counts once.
 */
#ifndef UPTO_ANALYSIS_TOTALS_H
#define UPTO_ANALYSIS_TOTALS_H

#include "functions.h"
#include "replay/parts.h"

struct function_total {
	uint64_t insns, ns;       /* what threads ran while the function was on their stacks */
	/* calls that returned, and the sum of their times; here each call of a recursion counts */
	uint64_t finished, finished_ns;
	uint64_t longest_ns;      /* the longest of these calls */
} __attribute__((aligned(64)));

/*
 * Work out self times (*ret) and totals in one pass. The caller frees *ret_totals,
 * which has an entry for each function of `names`. `index` may be NULL; with an index,
 * or while one is made, parts of the trace are replayed at the same time
 * (replay/parts.h).
 */
int totals_analyse(const struct session *session, bool make_index, struct functions *ret,
		   struct function_total **ret_totals, struct error *err);

/*
 * The same as one of several that hear a replay: the member for parts_replay(). What it found is to be collected, also
 * if that failed; then nothing is returned.
 */
void totals_member(const struct session *session, struct parts_member *ret);
void totals_collect(struct parts_member *member, bool failed, struct functions *ret,
		    struct function_total **ret_totals);

#endif
