/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replays all of a trace for an analysis whose answer is a sum: in several parts
 * at the same time, each from one of the index's moments to the next part's.
 */
#ifndef UPTO_REPLAY_PARTS_H
#define UPTO_REPLAY_PARTS_H

#include "index.h"

enum { PARTS_MAX = 24 };

struct parts_analysis {
	struct stacks_visitor visitor;
	/*
	 * Make the visitor's state for a part, in the thread that replays it. May return `before`, the state of this
	 * thread's previous part, to go on with it; `before` is NULL for a thread's first part.
	 */
	void *(*begin)(void *context, void *before);
	/* The part is replayed; the stacks are as it left them. May be NULL. */
	void (*end)(void *state, struct stacks *s);
};

/*
 * Replay the trace in parts. Without an index (NULL) one thread makes it if `make` is
 * set, while the others follow; otherwise there is one part. ret_states gets each
 * state once, in the order of the parts that they began with, and ends with the
 * first NULL. The caller owns them, also after an error.
 */
int parts_replay(const struct session *session, bool make, const struct parts_analysis *analysis, void *context,
		 void *ret_states[PARTS_MAX], struct error *err);

#endif
