/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "function_edges.h"

#include <stdlib.h>

#include "base/alloc.h"

struct making {
	const struct call_node *nodes;
	/*
	 * by node: the outermost one of the same function on the path to it, which is itself, unless it is within a
	 * recursion; and the one below that on the path
	 */
	uint32_t *outermost, *below;
	struct function_edges *edges;
	struct map numbers; /* caller << 32 | callee → edge's number, from 1 on */
	size_t cap;
};

static struct function_edge *edge_of(struct making *m, uint32_t caller, uint32_t callee)
{
	uint64_t *number = map_put(&m->numbers, (uint64_t)caller << 32 | callee, 0);

	if (!*number) {
		m->edges->list = array_grow(m->edges->list, m->edges->count, &m->cap, sizeof *m->edges->list);
		m->edges->list[m->edges->count++] = (struct function_edge){ .caller = caller, .callee = callee };
		*number = m->edges->count;
	}
	return &m->edges->list[*number - 1];
}

static size_t add_children(const struct sums_children *c, uint32_t node, uint32_t *todo, size_t n)
{
	for (uint32_t i = c->first[node]; i < c->first[node + 1]; i++)
		todo[n++] = c->list[i];
	return n;
}

/* In one walk, which has the depth of each function's outermost node on the path; 0: it has none there. */
static void find_outermost(struct making *m, const struct sums_tree *t)
{
	uint32_t *todo = xcalloc(t->tree.count, sizeof *todo), *path = xcalloc(t->tree.count, sizeof *path);
	uint32_t *outermost = xcalloc(names_count(t->session->names), sizeof *outermost), depth = 0;
	struct sums_children children;

	sums_children_make(t, &children);
	for (size_t n = add_children(&children, 0, todo, 0); n;) {
		uint32_t node = todo[--n], *at = &outermost[m->nodes[node].function];

		for (; path[depth] != m->nodes[node].parent; depth--)
			if (outermost[m->nodes[path[depth]].function] == depth)
				outermost[m->nodes[path[depth]].function] = 0;
		path[++depth] = node;
		*at = *at ? *at : depth;
		m->outermost[node] = path[*at];
		m->below[node] = path[*at < depth ? *at + 1 : depth];
		n = add_children(&children, node, todo, n);
	}
	sums_children_deinit(&children);
	free(outermost);
	free(path);
	free(todo);
}

/* Nothing is left of it: it was too small, and what ran in it is its caller's. */
static bool is_empty(const struct call_node *n)
{
	return !n->calls && !n->self_insns && !n->self_ns && !n->total_insns && !n->total_ns;
}

/*
 * What ran in a node goes to the edges of all functions around it: of each the outermost call's. So does what runs in a
 * function's own inner calls not count as its callees'.
 */
static void add_node(struct making *m, uint32_t n)
{
	const struct call_node *node = &m->nodes[n];
	struct edge_function *f = &m->edges->functions[node->function];
	uint32_t caller = node->parent ? m->nodes[node->parent].function : FUNCTION_NONE;
	struct function_edge *edge = edge_of(m, caller, node->function);

	edge->calls += node->calls;
	f->calls += node->calls;
	f->self_insns += node->self_insns;
	f->self_ns += node->self_ns;
	if (m->outermost[n] == n) {
		f->total_insns += node->total_insns;
		f->total_ns += node->total_ns;
		return;
	}
	/* its caller's edge lost it: it is the same function's own */
	edge = edge_of(m, node->function, m->nodes[m->below[n]].function);
	edge->insns -= node->self_insns;
	edge->ns -= node->self_ns;
}

/* The edge that leads to a node has its total, if its caller is the outermost of its function. */
static void add_total(struct making *m, uint32_t n)
{
	const struct call_node *node = &m->nodes[n];

	if (!node->parent || m->outermost[node->parent] != node->parent)
		return;
	edge_of(m, m->nodes[node->parent].function, node->function)->insns += node->total_insns;
	edge_of(m, m->nodes[node->parent].function, node->function)->ns += node->total_ns;
}

static int by_caller(const void *a, const void *b)
{
	const struct function_edge *x = a, *y = b;

	if (x->caller != y->caller)
		return x->caller < y->caller ? -1 : 1;
	return x->callee < y->callee ? -1 : x->callee > y->callee;
}

void function_edges_make(const struct sums_tree *t, struct function_edges *ret)
{
	struct making m = {
		.nodes = t->tree.nodes,
		.outermost = xcalloc(t->tree.count, sizeof *m.outermost),
		.below = xcalloc(t->tree.count, sizeof *m.below),
		.edges = ret,
	};

	*ret = (struct function_edges){
		.functions = xcalloc(names_count(t->session->names), sizeof *ret->functions),
		.insns = t->tree.nodes[0].total_insns,
		.ns = t->tree.nodes[0].total_ns,
		.unknown_insns = t->tree.nodes[0].self_insns,
		.unknown_ns = t->tree.nodes[0].self_ns,
	};
	find_outermost(&m, t);
	for (uint32_t i = 1; i < t->tree.count; i++)
		if (!is_empty(&m.nodes[i]))
			add_node(&m, i);
	for (uint32_t i = 1; i < t->tree.count; i++)
		if (!is_empty(&m.nodes[i]))
			add_total(&m, i);
	free(m.outermost);
	free(m.below);
	map_free(&m.numbers);
	if (ret->count)
		qsort(ret->list, ret->count, sizeof *ret->list, by_caller);
	for (size_t i = 0; i < ret->count; i++) {
		struct edge_function *f;

		if (ret->list[i].caller == FUNCTION_NONE)
			break; /* they are the last */
		f = &ret->functions[ret->list[i].caller];
		if (!f->n_edges++)
			f->first_edge = (uint32_t)i;
	}
}

void function_edges_deinit(struct function_edges *e)
{
	free(e->list);
	free(e->functions);
}
