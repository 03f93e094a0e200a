/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long functions ran with what they called, and what interrupted them; a
 * recursion is counted once.
 */
#ifndef UPTO_ANALYSIS_TOTALS_H
#define UPTO_ANALYSIS_TOTALS_H

#include "functions.h"
#include "replay/parts.h"

struct function_total {
	uint64_t insns, ns;       /* that its threads ran while it was on their stacks */
	uint64_t finished, finished_ns; /* calls that returned, and the sum of their times; each call of a recursion counts */
	uint64_t longest_ns;      /* of these */
} __attribute__((aligned(64)));

/*
 * Both at once: `totals`, to be freed, has one for each function of `names`. With
 * an index, which may be NULL, parts of the trace are replayed at the same time;
 * also if it is to be made (replay/parts.h).
 */
int totals_analyse(const struct reader *r, const struct names *names, const struct threads *threads, struct index *index,
		   bool make_index, struct functions *ret, struct function_total **ret_totals, struct error *err);

#endif
