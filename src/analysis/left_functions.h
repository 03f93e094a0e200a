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

struct left_functions {
	bool folded;                /* thunks are */
	const int64_t *insns, *ns;  /* self sums by function; NULL: none */
	const struct left_pair *edges;
	size_t n_edges;
};

/* Append the payload of a SUMS chunk. */
void left_functions_encode(const struct left_functions *left, const struct names *names, struct buf *out);

/* What sums that remain lack of all, with thunks folded or not. */
struct left_comparison {
	bool folded;
	struct functions all, remaining;
};

/* Append the payload of a SUMS chunk: that, for each of n views. */
void left_functions_compare(const struct left_comparison *views, size_t n, const struct names *names, struct buf *out);

/* Add a trace's SUMS to the sums that its events make. */
int left_functions_add(const struct reader *r, const struct names *names, struct functions *f, struct error *err);

#endif
