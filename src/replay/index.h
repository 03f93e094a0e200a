/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A way into the middle of a trace: all stacks at many moments, and which
 * functions were entered from each to the next. Made by replaying the trace once,
 * kept beside it as TRACE.index; it is not needed, only quicker.
 */
#ifndef UPTO_REPLAY_INDEX_H
#define UPTO_REPLAY_INDEX_H

#include "callees.h"

enum { INDEX_VERSION = 6 }; /* of the file: others are made anew */

struct index_entry {
	uint64_t ns;               /* of its checkpoint */
	uint64_t offset;           /* in the file */
	uint32_t stored, unpacked;
	uint32_t *functions;       /* entered at their first instruction from there to the next one; rising */
	size_t n_functions;
};

struct index {
	int fd;
	struct index_entry *entries;
	size_t count;
	struct buf packed, data;   /* of the checkpoint taken last */
	struct cursor callees;     /* likewise */
	ZSTD_DCtx *zstd;
};

/* The trace's index. NULL: there is none, or it is another trace's, or damaged. */
struct index *index_open(const struct reader *r, const struct names *names);

/* Who wants to know of each entry while it is made. What the checkpoint points to is valid during the call. */
struct index_watch {
	void (*entry)(void *context, const struct checkpoint *at);
	void *context;
};

/*
 * Make it. An error when it cannot be written where the trace is, or the trace cannot be read. `watch` may be NULL.
 */
int index_make(const struct reader *r, const struct names *names, const struct threads *threads,
	       const struct index_watch *watch, struct error *err);

void index_free(struct index *x);

/* Number of the last entry at or before that time. */
size_t index_at(const struct index *x, uint64_t ns);

/* False: it cannot be read. Valid until the next one is taken. */
bool index_checkpoint(struct index *x, size_t entry, struct checkpoint *ret);

/*
 * In the checkpoint taken last: what the callees of a frame have run, by its stack's number and its depth in it.
 * False: it is not there.
 */
bool index_callees(const struct index *x, size_t stack, size_t depth, struct callees *ret);

/* Was any of the functions (marks by number) entered there? */
bool index_has(const struct index *x, size_t entry, const bool *functions);

#endif
