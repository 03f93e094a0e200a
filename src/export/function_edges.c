/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "function_edges.h"

#include <stdlib.h>

#include "base/alloc.h"

struct making {
	const struct call_node *nodes;
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

/* The outermost node of the same function on the path to this one: itself, unless it is within a recursion. */
static uint32_t outermost(const struct making *m, uint32_t node, uint32_t *ret_below)
{
	uint32_t found = node, child = node;

	for (uint32_t at = node, below = node; at; below = at, at = m->nodes[at].parent)
		if (m->nodes[at].function == m->nodes[node].function) {
			found = at;
			child = below;
		}
	*ret_below = child;
	return found;
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
	uint32_t caller = node->parent ? m->nodes[node->parent].function : FUNCTION_NONE, below, top;
	struct function_edge *edge = edge_of(m, caller, node->function);

	edge->calls += node->calls;
	f->calls += node->calls;
	f->self_insns += node->self_insns;
	f->self_ns += node->self_ns;
	top = outermost(m, n, &below);
	if (top == n) {
		f->total_insns += node->total_insns;
		f->total_ns += node->total_ns;
		return;
	}
	/* its caller's edge lost it: it is the same function's own */
	edge = edge_of(m, node->function, m->nodes[below].function);
	edge->insns -= node->self_insns;
	edge->ns -= node->self_ns;
}

/* The edge that leads to a node has its total, if its caller is the outermost of its function. */
static void add_total(struct making *m, uint32_t n)
{
	const struct call_node *node = &m->nodes[n];
	uint32_t below;

	if (!node->parent || outermost(m, node->parent, &below) != node->parent)
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
	struct making m = { .nodes = t->tree.nodes, .edges = ret };

	*ret = (struct function_edges){
		.functions = xcalloc(names_count(t->session->names), sizeof *ret->functions),
		.insns = t->tree.nodes[0].total_insns,
		.ns = t->tree.nodes[0].total_ns,
		.unknown_insns = t->tree.nodes[0].self_insns,
		.unknown_ns = t->tree.nodes[0].self_ns,
	};
	for (uint32_t i = 1; i < t->tree.count; i++)
		if (!is_empty(&m.nodes[i]))
			add_node(&m, i);
	for (uint32_t i = 1; i < t->tree.count; i++)
		if (!is_empty(&m.nodes[i]))
			add_total(&m, i);
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
