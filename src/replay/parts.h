/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replays all of a trace for analyses whose answers are sums: in several parts at the same time, each from one of the
 * index's moments to the next part's.
 */
#ifndef UPTO_REPLAY_PARTS_H
#define UPTO_REPLAY_PARTS_H

#include "index.h"
#include "together.h"

enum { PARTS_MAX = 24 };

struct parts_analysis {
	struct stacks_visitor visitor;
	/*
	 * Make the visitor's state for a part, in the thread that replays it. May return `before`, the state of this
	 * thread's previous part, to go on with it; `before` is NULL for a thread's first part. `part`: its number,
	 * from 0 on, in the order of time; each is begun when those before it have been taken by threads.
	 */
	void *(*begin)(void *context, void *before, size_t part);
	/* The part is replayed; the stacks are as it left them. May be NULL. */
	void (*end)(void *state, struct stacks *s);
};

/* One of the analyses that hear a replay. */
struct parts_member {
	struct parts_analysis analysis;
	void *context;
	/*
	 * Set by the replay: each state once, in the order of the parts that they began with, ended by the first NULL.
	 * The caller owns them, also after an error.
	 */
	void *states[PARTS_MAX];
};

/*
 * Replay the trace in parts, or what the span takes of it (NULL: all), for up to TOGETHER_MAX members at once. Without
 * an index (NULL) one thread makes it if `make` is set, while the others follow; otherwise there is one part. Of a
 * span, with an index, the replay begins at the index's moment before it; where it ends is the members' business:
 * stacks_are_past().
 */
int parts_replay(const struct session *session, bool make, const struct span *span, struct parts_member *members,
		 size_t n, struct error *err);

#endif
