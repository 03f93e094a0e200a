/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the paths of calls (calltree.h) ran in each of many segments of a trace, so that the call tree of any part of
 * the time is a sum over segments, and a replay of the two ends that are no whole segment.
 *
 * Paths that had less than a KEPT_PARTS-th of all, by both clocks, are not kept; nor are they seen in any graph: what
 * is asked for says how little is not worth a node, and that is not less. They are in their callers' rest.
 */
#ifndef UPTO_ANALYSIS_PATH_SUMS_H
#define UPTO_ANALYSIS_PATH_SUMS_H

#include "calltree.h"

struct path_sums;

/* The function of a node for all that is below its parent and has no own. */
enum { CALL_TREE_REST = CALL_TREE_WHOSE - 1 };

/*
 * Replay the trace once, in parts. Segments begin at moments of the session's index, which it must have, and have about
 * as many events each.
 */
int path_sums_make(const struct session *session, const struct call_tree_apart *apart, struct path_sums **ret,
		   struct error *err);
void path_sums_free(struct path_sums *p);

/* The whole segments in the span: from *ret_first on, that many. */
size_t path_sums_segments(const struct path_sums *p, const struct span *span, size_t *ret_first);
/* When a segment begins; of the one behind the last, UINT64_MAX. */
uint64_t path_sums_begin(const struct path_sums *p, size_t segment);

/* How little a path has that is not worth a node. */
struct path_least {
	uint64_t insns, ns;
};

/*
 * Add what the paths had in those segments to a tree that has its totals. `parts`: what is less than such a part of it
 * all then, by both clocks, may be in a rest. *ret_least has what that is; of paths that have more, all is there.
 */
void path_sums_add(const struct path_sums *p, size_t first, size_t n, unsigned parts, struct call_tree *into,
		   struct path_least *ret_least);

#endif
