/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums of what was left out of a trace (docs/format.md, chunk SUMS). The kernel's functions are told by their symbols,
 * others by name, since numbers of functions depend on what is known of files.
 */
#ifndef UPTO_TRACE_LEFT_SUMS_H
#define UPTO_TRACE_LEFT_SUMS_H

#include "reader.h"

#define LEFT_NO_SYMBOL UINT64_MAX

/* A function. Valid as long as the bytes that it was read from. */
struct left_name {
	uint64_t symbol;        /* its number, counted through all SYMBOLS chunks; LEFT_NO_SYMBOL: the rest tells */
	const char *function;   /* with its object: "ext4_mount [ext4]" */
	uint64_t nth;           /* how many others of that name come before it, in the order of numbers */
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

/*
 * Of the names, those with symbols come first, in their order; of the edges, those of a function lie together, and so
 * on by name and caller.
 */
void left_sums_encode(const struct left_sums *s, struct buf *out);

/* Add those of one chunk. Call left_sums_deinit() also after an error. */
int left_sums_decode(struct cursor *in, struct left_sums *s, struct error *err);

/* All SUMS chunks of a trace. Errors name the file. Call left_sums_deinit() also after an error. */
int left_sums_read(const struct reader *r, struct left_sums *ret, struct error *err);
void left_sums_deinit(struct left_sums *s);

#endif
