/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums of what was left out of a trace (docs/format.md, chunk SUMS). Functions are told by name, since their numbers depend on all symbols of
 * the trace.
 */
#ifndef UPTO_TRACE_LEFT_SUMS_H
#define UPTO_TRACE_LEFT_SUMS_H

#include "reader.h"

/* A function: the nth of those that have the name in the object, in the order of numbers. Valid as long as the bytes that it was read from. */
struct left_name {
	const char *function, *object;
	uint32_t nth;
};

/* What has to be added to the sums that the trace's events make, to get those of all that ran. */
struct left_sum {
	uint32_t name;          /* index in left_sums.names */
	bool folded;            /* for sums whose thunks are folded (replay/names.h); else for those that show them */
	int64_t calls, self_insns, self_ns;
};

/* Calls that were left out, by caller. */
struct left_edge {
	uint32_t name, caller;  /* likewise */
	uint64_t calls, insns, ns; /* the thread's own, callees included */
};

struct left_sums {
	struct left_name *names;
	size_t n_names, cap_names;
	struct left_sum *sums;
	size_t n_sums, cap_sums;
	struct left_edge *edges;
	size_t n_edges, cap_edges;
	struct buf *bytes;      /* of the names, one a chunk */
	size_t n_bytes, cap_bytes;
};

void left_sums_encode(const struct left_sums *s, struct buf *out);

/* All SUMS chunks of a trace. Errors name the file. Call left_sums_deinit() also after an error. */
int left_sums_read(const struct reader *r, struct left_sums *ret, struct error *err);
void left_sums_deinit(struct left_sums *s);

#endif
