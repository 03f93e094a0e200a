/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "call_nodes.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "replay/inlines.h"

enum { ROOT = 0 };

void call_tree_init(struct call_tree *t)
{
	*t = (struct call_tree){ 0 };
	t->nodes = array_grow(NULL, 0, &t->cap, sizeof *t->nodes);
	t->nodes[t->count++] = (struct call_node){ .function = CALL_TREE_NO_FUNCTION };
}

/* What tells a child from the others of its parent. */
static uint32_t child_key(struct call_tree *t, uint32_t function, uint32_t given)
{
	uint64_t *number;

	if (given == GIVEN_NONE)
		return function;
	number = map_put(&t->variants, (uint64_t)function << 32 | given, 0);
	if (!*number)
		*number = t->variants.count;
	return (uint32_t)*number | 1u << 31;
}

uint32_t call_tree_other_child(struct call_tree *t, uint32_t parent, uint32_t function, uint32_t given)
{
	uint64_t *known = map_put(&t->children, (uint64_t)parent << 32 | child_key(t, function, given), 0);

	if (!*known) {
		t->nodes = array_grow(t->nodes, t->count, &t->cap, sizeof *t->nodes);
		t->nodes[t->count] = (struct call_node){ .function = function, .parent = parent, .given = given };
		*known = t->count++;
	}
	return t->nodes[parent].last_child = (uint32_t)*known;
}

uint32_t call_tree_find(const struct call_tree *t, uint32_t parent, uint32_t function)
{
	const uint64_t *known = map_get(&t->children, (uint64_t)parent << 32 | function);

	return known ? (uint32_t)*known : 0;
}

uint32_t call_tree_child_of(struct call_tree *t, uint32_t parent, uint32_t function)
{
	return call_tree_child_given(t, parent, function, GIVEN_NONE);
}

uint32_t call_tree_child(struct call_tree *t, const struct names *names, uint32_t parent, uint32_t function)
{
	if (parent != ROOT && t->nodes[parent].function == function && names_is_group(names, function))
		return parent;
	return call_tree_child_of(t, parent, function);
}

static uint32_t child_like(struct call_tree *t, uint32_t parent, const struct call_node *n)
{
	return call_tree_child_given(t, parent, n->function, n->given);
}

/* Set the totals. It goes backwards, since children come after their parents. */
void call_tree_add_up(struct call_tree *t)
{
	for (size_t i = 0; i < t->count; i++) {
		t->nodes[i].total_insns = t->nodes[i].self_insns;
		t->nodes[i].total_ns = t->nodes[i].self_ns;
	}
	for (size_t i = t->count; i-- > 1;) {
		struct call_node *parent = &t->nodes[t->nodes[i].parent];

		parent->total_insns += t->nodes[i].total_insns;
		parent->total_ns += t->nodes[i].total_ns;
	}
}

void call_tree_add(struct call_tree *into, const struct call_tree *part)
{
	uint32_t *twin = xcalloc(part->count, sizeof *twin);

	for (size_t i = 0; i < part->count; i++) {
		const struct call_node *n = &part->nodes[i];
		struct call_node *to;

		twin[i] = i == ROOT ? ROOT : child_like(into, twin[n->parent], n);
		to = &into->nodes[twin[i]];
		to->calls += n->calls;
		to->tail_calls += n->tail_calls;
		to->self_insns += n->self_insns;
		to->self_ns += n->self_ns;
	}
	free(twin);
	into->unmatched = part->unmatched;
}

void call_tree_deinit(struct call_tree *t)
{
	free(t->nodes);
	map_free(&t->children);
	map_free(&t->variants);
	map_free(&t->chains);
	*t = (struct call_tree){ 0 };
}

static bool is_marked(const struct call_tree *t, const struct call_node *n, const bool *functions)
{
	return !(t->inlines && inlines_name(t->inlines, n->function)) && functions[n->function];
}

/* Is the node called, however indirectly, by its own function? */
static bool is_recursive(const struct call_tree *t, size_t node)
{
	for (uint32_t i = t->nodes[node].parent; i != ROOT; i = t->nodes[i].parent)
		if (t->nodes[i].function == t->nodes[node].function)
			return true;
	return false;
}

/* Add the path from a node up to the root to another tree, as a path down from its root. */
static void add_callers(const struct call_tree *t, size_t node, struct call_tree *out)
{
	const struct call_node *n = &t->nodes[node];
	uint32_t at = ROOT;

	for (uint32_t i = (uint32_t)node; i != ROOT; i = t->nodes[i].parent) {
		at = child_like(out, at, &t->nodes[i]);
		out->nodes[at].calls += n->calls;
		out->nodes[at].total_insns += n->total_insns;
		out->nodes[at].total_ns += n->total_ns;
		if (i == node) {
			out->nodes[at].tail_calls += n->tail_calls;
			out->nodes[at].self_insns += n->self_insns;
			out->nodes[at].self_ns += n->self_ns;
		}
	}
	out->nodes[ROOT].total_insns += n->total_insns;
	out->nodes[ROOT].total_ns += n->total_ns;
}

/* Merge the subtrees below all nodes of the functions. */
static void add_callees(const struct call_tree *t, const bool *functions, struct call_tree *out)
{
	uint32_t *twin = xcalloc(t->count, sizeof *twin); /* 0: not below such a node */

	for (size_t i = 1; i < t->count; i++) {
		const struct call_node *n = &t->nodes[i];
		struct call_node *to;

		if (!twin[n->parent] && !is_marked(t, n, functions))
			continue;
		twin[i] = child_like(out, twin[n->parent], n);
		to = &out->nodes[twin[i]];
		to->calls += n->calls;
		to->tail_calls += n->tail_calls;
		to->self_insns += n->self_insns;
		to->self_ns += n->self_ns;
	}
	free(twin);
	call_tree_add_up(out);
}

void call_tree_of(const struct call_tree *t, const bool *functions, bool callers, struct call_tree *ret)
{
	call_tree_init(ret);
	ret->unmatched = t->unmatched;
	ret->inlines = t->inlines;
	ret->given = t->given;
	if (!callers) {
		add_callees(t, functions, ret);
		return;
	}
	for (size_t i = 1; i < t->count; i++)
		if (is_marked(t, &t->nodes[i], functions) && !is_recursive(t, i))
			add_callers(t, i, ret);
}
