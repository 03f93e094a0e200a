/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tree of all calls by process and by phase of the boot, without its smallest parts. */
#ifndef UPTO_REPORT_FLAME_H
#define UPTO_REPORT_FLAME_H

#include "analysis/calls/path_sums.h"
#include "analysis/history/history.h"
#include "base/json.h"

struct flame {
	struct call_tree tree;
	struct path_least least; /* what is less, by both clocks, is joined */
	uint32_t *whose; /* by thread's number + 1: the number + 1 of its process's first thread; 0: none */
	uint32_t count;  /* such numbers are below */
	uint64_t *cuts;  /* where phases end */
	size_t n_cuts;
	struct call_tree_apart apart; /* the same */
	struct call_tree_options options;
	uint32_t *phases; /* n_cuts + 1: the number of the span that each part of the time is; HISTORY_NONE */
};

/* One of those that hear a replay (replay/parts.h). It is to be collected also if that failed. */
void flame_member(const struct session *session, const struct history *h, struct flame *ret,
		  struct parts_member *ret_member);
void flame_collect(struct flame *f, struct parts_member *member, bool failed);
/*
 * Of a part of the time, without phases; where that is much of the trace, from the sums at its segments' ends (NULL:
 * there are none), then with less that is small. Call flame_deinit() also after an error.
 */
int flame_of_span(const struct session *session, const struct path_sums *sums, const struct span *span,
		  struct flame *ret, struct error *err);
/* The sums for that, which are kept beside the trace. */
int flame_sums_make(const struct session *session, struct path_sums **ret, struct error *err);
void flame_deinit(struct flame *f);

/*
 * "flame": {"groups": [[span or null, thread or null]], "names": […], "group", "parent", "name", "calls", "insns",
 * "ns": columns of all nodes}. A node's parent comes before it; -1: its group. Times and instructions are the node's
 * own. What is smaller than a 20,000th of all, by both clocks (flame_of_span() of much of the trace: a 2,000th), is its parent's child "…", with all that is in it.
 */
void flame_put(const struct flame *f, const struct session *session, struct json *j);

#endif
