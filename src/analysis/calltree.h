/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which calls led to which: all call stacks of a trace, merged. A node stands
 * for a function called along one path.
 */
#ifndef UPTO_ANALYSIS_CALLTREE_H
#define UPTO_ANALYSIS_CALLTREE_H

#include "base/map.h"
#include "replay/inlines.h"
#include "replay/parts.h"

struct call_node {
	uint32_t function;      /* number, see names.h; of what was inlined into its parent, see inlines.h */
	uint32_t parent;        /* a node before this one; the root: itself */
	uint32_t last_child;    /* that was entered last; 0: none */
	uint64_t calls;
	uint64_t self_insns, self_ns;
	uint64_t total_insns, total_ns; /* with callees, and what interrupted them */
};

struct call_tree {
	struct call_node *nodes;  /* the root, number 0, has no function: it holds what ran without a frame */
	size_t count, cap;
	struct map children;      /* parent << 32 | function → node */
	struct unmatched unmatched;
	struct inlines *inlines;  /* NULL: nobody asks for what was inlined */
	struct map chains;        /* theirs by their keys, so that threads need not wait for each other */
};

/*
 * With an index, which may be NULL, parts of the trace are replayed at the same
 * time; also if it is to be made (replay/parts.h). With `inlines`, which may be
 * NULL, and lasts as long as the tree, a call stands below what was inlined where
 * it came from; such a node has no calls and nothing of its own: that is the
 * function's that it became part of.
 */
int call_tree_analyse(const struct reader *r, const struct names *names, const struct threads *threads,
		      struct index *index, bool make_index, struct inlines *inlines, struct call_tree *ret, struct error *err);
void call_tree_deinit(struct call_tree *t);

/*
 * The same calls seen from some functions, marked by number (of names.h): with `callers`, who
 * led to them, else what they led to. The root's children are those functions.
 */
void call_tree_of(const struct call_tree *t, const bool *functions, bool callers, struct call_tree *ret);

#endif
