/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What META tells of a trace that is a part of another one (docs/format.md: thinned, span.N, left_out). */
#ifndef UPTO_TRACE_THINNED_H
#define UPTO_TRACE_THINNED_H

#include <stdbool.h>
#include <stddef.h>

#include "meta.h"

struct kept_span {
	uint64_t start_ns, stop_ns; /* stop: UINT64_MAX is the trace's end */
};

/* The options that it was made by; NULL: it is whole. */
const char *thinned_by(const struct meta *m);

/* What its spans began with, "entry:vfs_open"; all options if they do not say. The caller frees it. */
char *thinned_start(const struct meta *m);

/* The spans that it has. Returns how many; 0: it is whole. The caller frees *ret. */
size_t thinned_spans(const struct meta *m, struct kept_span **ret);

/* Were calls left out, or may they have been? */
bool thinned_is_filtered(const struct meta *m);

/* Calls that were left out, by reason ("duration" …), of all that were looked at ("calls"). */
uint64_t thinned_left_out(const struct meta *m, const char *reason);

/*
 * From when on a trace has what happened up to that time: the begin of the span that it is in or behind, but not before
 * from_ns.
 */
uint64_t thinned_from(const struct meta *m, uint64_t ns, uint64_t from_ns);

/*
 * Marks of the threads that were chosen, by number, of which there are n; NULL: all are. The caller frees them. Frames
 * of others may remain, where nothing tells that they were left.
 */
bool *thinned_threads(const struct meta *m, size_t n);

/* META's line for them: "0-3,17". */
void thinned_put_threads(struct buf *lines, const bool *threads, size_t n);

#endif
