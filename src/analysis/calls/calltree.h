/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Merges all call stacks of a trace into one tree. A node stands for a function
 * called along one path.
 */
#ifndef UPTO_ANALYSIS_CALLTREE_H
#define UPTO_ANALYSIS_CALLTREE_H

#include "call_nodes.h"
#include "replay/inlines.h"
#include "replay/parts.h"

/* What is not NULL must live as long as the tree. */
struct call_tree_options {
	bool make_index;
	/*
	 * NULL: none. A call is below the functions that were inlined at the place of the call. The node of an inlined
	 * function has no calls and no self time; both count for the function that it became part of.
	 */
	struct inlines *inlines;
	struct given *given; /* NULL: calls of a function on one path have one node */
	const struct call_tree_apart *apart; /* NULL: paths of all threads, at all times, have one node */
	/*
	 * NULL: all of the trace. What ran in it counts, also in calls that began before it; calls count that were
	 * entered in it. With an index, no more is replayed than that takes.
	 */
	const struct span *span;
	const struct call_tree_cuts *cuts; /* NULL: one tree of all. Not with `span` */
};

/*
 * Moments at which a tree is given away and a new one begins: segment number 0 ends at the first of them. What an event
 * tells of, which came before it, is divided between the segments that it is in.
 */
struct call_tree_cuts {
	const uint64_t *ns;     /* in their order */
	size_t n;
	/*
	 * Called from whichever thread replays, maybe several times for a segment, whose trees are to be added. They
	 * are without totals.
	 */
	void (*give)(void *context, size_t segment, const struct call_tree *t);
	void *context;
};

/*
 * How calls are told apart: by whose they are, and by parts of the time. Below the root are nodes then whose function
 * is CALL_TREE_WHOSE | part * count + number, and below these the calls. A call that goes on from one part into the
 * next is in both; it counts where it was entered.
 */
struct call_tree_apart {
	const uint32_t *whose;  /* by thread's number + 1 (threads.h): a number below `count` */
	uint32_t count;
	const uint64_t *cuts;   /* where a part ends and the next one begins, guest time, in their order */
	size_t n_cuts;
};

enum { CALL_TREE_WHOSE = 1 << 30 };

/*
 * By thread's number + 1, for `whose`: the number + 1 of its process's first thread; of kernel threads that of
 * whichever came first. 0: what ran before there were threads. The caller frees it.
 */
uint32_t *call_tree_processes(const struct threads *all);
/* Likewise: each thread for itself. */
uint32_t *call_tree_threads(const struct threads *all);

/* With the session's index, or while one is made, parts of the trace are replayed at the same time (replay/parts.h). */
int call_tree_analyse(const struct session *session, const struct call_tree_options *options, struct call_tree *ret,
		      struct error *err);
/*
 * The same as one of several that hear a replay: the member for parts_replay(). What it found is to be collected, also
 * if that failed; then nothing is returned. `options` must live as long.
 */
void call_tree_member(const struct call_tree_options *options, struct parts_member *ret);
void call_tree_collect(struct parts_member *member, bool failed, struct call_tree *ret);

#endif
