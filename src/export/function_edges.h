/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who called whom, and what ran in that: a tree of calls added up by function, as callgrind and gprof have it. What a
 * function ran, its callees included, is its own sum and those of its edges. Of a recursion only the outermost call
 * counts, so that nothing is there twice: an edge from within one has its calls, and no cost.
 */
#ifndef UPTO_EXPORT_FUNCTION_EDGES_H
#define UPTO_EXPORT_FUNCTION_EDGES_H

#include "sums_tree.h"

struct function_edge {
	uint32_t caller, callee; /* functions; caller FUNCTION_NONE: nobody, or it is not known */
	uint64_t calls, insns, ns;
};

struct edge_function {
	uint64_t calls, self_insns, self_ns;
	uint64_t total_insns, total_ns; /* with callees; a recursion counts once */
	uint32_t first_edge, n_edges;   /* that it calls */
};

enum { FUNCTION_NONE = UINT32_MAX };

struct function_edges {
	struct function_edge *list; /* by caller, then callee */
	size_t count;
	struct edge_function *functions;    /* by number */
	uint64_t insns, ns;                 /* all of it, and … */
	uint64_t unknown_insns, unknown_ns; /* … what no function has */
};

/* The tree is not told apart. */
void function_edges_make(const struct sums_tree *t, struct function_edges *ret);
void function_edges_deinit(struct function_edges *e);

#endif
