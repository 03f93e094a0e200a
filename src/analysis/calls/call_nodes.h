/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A tree of calls: a node stands for a function called along one path. calltree.h makes it of a trace. */
#ifndef UPTO_ANALYSIS_CALL_NODES_H
#define UPTO_ANALYSIS_CALL_NODES_H

#include "base/map.h"
#include "given.h"
#include "replay/stacks.h"

#define CALL_TREE_NO_FUNCTION UINT32_MAX /* the root's */

struct call_node {
	uint32_t function;      /* number (names.h); of a function inlined into its parent: see inlines.h */
	uint32_t parent;        /* number of a node before this one; the root is its own parent */
	uint32_t given;         /* what it was given: calls that were given other things have other nodes (given.h) */
	uint32_t last_child;    /* the child that was entered last; 0: none */
	uint64_t calls, tail_calls; /* how many of them its caller ended in: FRAME_TAIL */
	uint64_t self_insns, self_ns;
	uint64_t total_insns, total_ns; /* with callees, and with the interrupts that came in them */
};

struct call_tree_apart;
struct call_tree_cuts;
struct landings;

struct call_tree {
	struct call_node *nodes;  /* number 0 is the root, which has no function: it has what ran without a frame */
	size_t count, cap;
	/* parent << 32 | function → node; function: of what was given something number in `variants` | 1 << 31 */
	struct map children;
	struct map variants;      /* function << 32 | what it was given → number, from 1 on */
	struct unmatched unmatched;
	struct inlines *inlines;  /* NULL: inlined functions are not asked for */
	struct given *given;      /* NULL: what functions were given is not asked for */
	const struct call_tree_apart *apart; /* NULL: they are not */
	uint32_t part;            /* of the time, that is gone through */
	const struct span *span;  /* NULL: all */
	const struct call_tree_cuts *cuts; /* NULL: it is not cut */
	size_t segment;           /* that is gone through */
	/* copies of the chains in `inlines` by key, so that threads need not wait for each other */
	struct map chains;
	struct landings *landings; /* while it is replayed: tree_phrases.h */
};

void call_tree_deinit(struct call_tree *t);

/* An empty one. */
void call_tree_init(struct call_tree *t);
/* Add a tree to another. Behind the last one, call_tree_add_up() sets the totals. */
void call_tree_add(struct call_tree *into, const struct call_tree *part);
void call_tree_add_up(struct call_tree *t);
/* The number of a node's child; 0: there is none of that function. */
uint32_t call_tree_find(const struct call_tree *t, uint32_t parent, uint32_t function);
/* For the next one: not the child that was entered last. */
uint32_t call_tree_other_child(struct call_tree *t, uint32_t parent, uint32_t function, uint32_t given);
/* Likewise, of calls that were given that (given.h); made when it is not there. */
static inline uint32_t call_tree_child_given(struct call_tree *t, uint32_t parent, uint32_t function, uint32_t given)
{
	uint32_t last = t->nodes[parent].last_child;

	if (last && t->nodes[last].function == function && t->nodes[last].given == given)
		return last;
	return call_tree_other_child(t, parent, function, given);
}
/* The same of what was given nothing. */
uint32_t call_tree_child_of(struct call_tree *t, uint32_t parent, uint32_t function);
/*
 * The node of a function that is called in one of another node; made when it is not there. A group of code without
 * names counts as one function, which does not call itself.
 */
uint32_t call_tree_child(struct call_tree *t, const struct names *names, uint32_t parent, uint32_t function);

/*
 * Make a tree of the same calls whose root has some functions as children. They are
 * marked in `functions` by number (names.h). Below them are their callees or, with
 * `callers`, their callers.
 */
void call_tree_of(const struct call_tree *t, const bool *functions, bool callers, struct call_tree *ret);

#endif
