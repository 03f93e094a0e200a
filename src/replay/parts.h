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
	 * A part's state, for the visitor; called in the thread that replays it. It may be that of the part which the
	 * thread replayed before, to go on with; NULL: there was none.
	 */
	void *(*begin)(void *context, void *before);
	/* The part is replayed; the stacks are as it left them. May be NULL. */
	void (*end)(void *state, struct stacks *s);
};

/*
 * `index` may be NULL: then one thread makes it, if that is asked for, while others
 * follow; else there is one part. The states come once each, in the order of the parts that
 * they began with, and are the caller's, also after an error: all up to the first
 * NULL.
 */
int parts_replay(const struct reader *r, const struct names *names, const struct threads *threads, struct index *index,
		 bool make, const struct parts_analysis *analysis, void *context, void *ret_states[PARTS_MAX],
		 struct error *err);

#endif
