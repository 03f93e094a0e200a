/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A way into the middle of a trace: all stacks at many moments, and which
 * functions were entered from each to the next. Made by replaying the trace once,
 * kept beside it as TRACE.index; it is not needed, only quicker. Its stacks are those
 * without thunks (names_fold_thunks()): where these are asked for, there is no index.
 */
#ifndef UPTO_REPLAY_INDEX_H
#define UPTO_REPLAY_INDEX_H

#include "callees.h"

enum { INDEX_VERSION = 14 }; /* of the file: an index of another version is made anew */

struct index_entry {
	uint64_t ns;               /* the moment of its checkpoint */
	uint64_t offset;           /* in the file */
	uint32_t stored, unpacked;
	uint32_t *functions;       /* entered at their first instruction from there to the next entry; sorted */
	size_t n_functions;
};

struct index {
	int fd;
	struct index_entry *entries;
	size_t count;
	struct buf packed, data;   /* of the checkpoint that was read last */
	struct cursor callees;     /* callees in that checkpoint */
	ZSTD_DCtx *zstd;
};

/* Open the trace's index. Returns NULL if there is none, if it belongs to another trace, or if it is damaged. */
struct index *index_open(const struct reader *r, const struct names *names);

/* Called with each entry while the index is made. What the checkpoint points to is valid only during the call. */
struct index_watch {
	void (*entry)(void *context, const struct checkpoint *at);
	void *context;
};

/*
 * Make the index. Fails if it cannot be written beside the trace, or if the trace cannot be read. `watch` may be NULL.
 */
int index_make(const struct session *session, const struct index_watch *watch, struct error *err);

void index_free(struct index *x);

/* The number of the last entry at or before that time. */
size_t index_at(const struct index *x, uint64_t ns);

/* Read an entry's checkpoint. Returns false if it cannot be read. *ret is valid until the next call. */
bool index_checkpoint(struct index *x, size_t entry, struct checkpoint *ret);

/*
 * What the callees of a frame had run, in the checkpoint that was read last. The frame is given by the number of its
 * stack and its depth. Returns false if the checkpoint does not have it.
 */
bool index_callees(const struct index *x, size_t stack, size_t depth, struct callees *ret);

/* Was any of the functions (marked by number) entered between this entry and the next? */
bool index_has(const struct index *x, size_t entry, const bool *functions);

#endif
