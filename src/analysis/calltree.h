/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which calls led to which: all call stacks of a trace, merged. A node stands
 * for a function called along one path.
 */
#ifndef UPTO_ANALYSIS_CALLTREE_H
#define UPTO_ANALYSIS_CALLTREE_H

#include "base/map.h"
#include "replay/index.h"

struct call_node {
	uint32_t function;      /* number, see names.h */
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
	uint64_t *longest_ns;     /* by function: time that its thread ran in its longest call, callees too */
	uint64_t *finished, *finished_ns; /* by function: calls that returned, and the sum of their times, recursion too */
	size_t n_functions;
	struct unmatched unmatched;
};

/* With an index, which may be NULL, parts of the trace are replayed at the same time. */
int call_tree_analyse(const struct reader *r, const struct names *names, const struct threads *threads,
		      struct index *index, struct call_tree *ret, struct error *err);
void call_tree_deinit(struct call_tree *t);

/* How long a function and what it called ran; recursion is counted once. One a function of `names`. */
struct function_total {
	uint64_t insns, ns, calls;
	uint64_t average_ns, longest_ns; /* of calls that returned; each call of a recursion counts */
};
void call_tree_totals(const struct call_tree *t, struct function_total *totals, size_t count);

/*
 * The same calls seen from some functions, marked by number: with `callers`, who
 * led to them, else what they led to. The root's children are those functions.
 */
void call_tree_of(const struct call_tree *t, const bool *functions, bool callers, struct call_tree *ret);

#endif
