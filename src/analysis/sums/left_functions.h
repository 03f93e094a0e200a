/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sums of trace/left_sums.h by number of function: to make them, and to add them to those of the events. */
#ifndef UPTO_ANALYSIS_LEFT_FUNCTIONS_H
#define UPTO_ANALYSIS_LEFT_FUNCTIONS_H

#include "functions.h"
#include "trace/left_sums.h"

/* Calls of a function by another that were left out. */
struct left_pair {
	uint32_t caller, function;
	uint64_t calls, insns, ns;
};

struct left_pairs {
	struct left_pair *list;
	size_t count, cap;
};

/* Append the payload of a SUMS chunk: of self sums by function, which are of calls with their thunks folded or not. */
void left_functions_encode(const int64_t *insns, const int64_t *ns, bool folded, const struct names *names,
			   struct buf *out);

/* What sums that remain lack of all, with thunks folded or not. */
struct left_comparison {
	bool folded;
	struct functions all, remaining;
};

/* Append the payload of a SUMS chunk: that, for each of n views, and the pairs, which it sorts. */
void left_functions_compare(const struct left_comparison *views, size_t n, struct left_pairs *pairs,
			    const struct names *names, struct buf *out);

/* Add a trace's SUMS to the sums that its events make. */
int left_functions_add(const struct reader *r, const struct names *names, struct functions *f, struct error *err);

#endif
