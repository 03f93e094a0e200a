/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "calltree.h"

#include "base/alloc.h"

enum { ROOT = 0 };

static const uint32_t NO_FUNCTION = UINT32_MAX;

static void init(struct call_tree *t)
{
	*t = (struct call_tree){ 0 };
	t->nodes = array_grow(NULL, 0, &t->cap, sizeof *t->nodes);
	t->nodes[t->count++] = (struct call_node){ .function = NO_FUNCTION };
}

static uint32_t child_of(struct call_tree *t, uint32_t parent, uint32_t function)
{
	uint32_t last = t->nodes[parent].last_child;
	uint64_t *known;

	if (last && t->nodes[last].function == function)
		return last;
	known = map_put(&t->children, (uint64_t)parent << 32 | function, 0);
	if (!*known) {
		t->nodes = array_grow(t->nodes, t->count, &t->cap, sizeof *t->nodes);
		t->nodes[t->count] = (struct call_node){ .function = function, .parent = parent };
		*known = t->count++;
	}
	return t->nodes[parent].last_child = (uint32_t)*known;
}

static void enter(void *state, struct stacks *s, struct stack *stack, struct frame *frame)
{
	struct call_tree *t = state;
	uint32_t parent = stack->depth > 1 ? stack->frames[stack->depth - 2].data : ROOT;

	/* code without names is one function, whatever it calls within itself */
	if (names_is_group(s->names, frame->function) && parent != ROOT && t->nodes[parent].function == frame->function)
		frame->data = parent;
	else
		frame->data = child_of(t, parent, frame->function);
	t->nodes[frame->data].calls += frame->at_start;
}

static void leave(void *state, struct stacks *s, struct stack *stack, const struct frame *frame)
{
	struct call_tree *t = state;
	uint64_t ns = stack->ns - frame->ns;

	(void)s;
	if (!frame->at_start)
		return;
	t->finished[frame->function]++;
	t->finished_ns[frame->function] += ns;
	if (ns > t->longest_ns[frame->function])
		t->longest_ns[frame->function] = ns;
}

static void spend(void *state, struct stacks *s, struct stack *stack, const struct spent *spent)
{
	struct call_tree *t = state;
	struct call_node *node = &t->nodes[stack->depth ? stack->frames[stack->depth - 1].data : ROOT];

	(void)s;
	node->self_insns += spent->insns;
	node->self_ns += spent->ns;
}

/* Children come after their parents. */
static void add_up(struct call_tree *t)
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

int call_tree_analyse(const struct reader *r, const struct names *names, const struct threads *threads,
		      struct call_tree *ret, struct error *err)
{
	static const struct stacks_visitor visitor = { .enter = enter, .leave = leave, .spend = spend };
	struct stacks stacks;
	int result;

	init(ret);
	ret->n_functions = names_count(names);
	ret->longest_ns = xcalloc(ret->n_functions, sizeof *ret->longest_ns);
	ret->finished = xcalloc(ret->n_functions, sizeof *ret->finished);
	ret->finished_ns = xcalloc(ret->n_functions, sizeof *ret->finished_ns);
	result = stacks_replay(&stacks, r, names, threads, NULL, UINT64_MAX, &visitor, ret, err);
	ret->unmatched = stacks.unmatched;
	stacks_deinit(&stacks);
	if (result < 0)
		call_tree_deinit(ret);
	else
		add_up(ret);
	return result;
}

void call_tree_deinit(struct call_tree *t)
{
	free(t->nodes);
	free(t->longest_ns);
	free(t->finished);
	free(t->finished_ns);
	map_free(&t->children);
	*t = (struct call_tree){ 0 };
}

/* Is the node called, however indirectly, by its own function? */
static bool is_recursive(const struct call_tree *t, size_t node)
{
	for (uint32_t i = t->nodes[node].parent; i != ROOT; i = t->nodes[i].parent)
		if (t->nodes[i].function == t->nodes[node].function)
			return true;
	return false;
}

void call_tree_totals(const struct call_tree *t, struct function_total *totals, size_t count)
{
	for (size_t i = 1; i < t->count; i++) {
		const struct call_node *n = &t->nodes[i];
		struct function_total *total = n->function < count ? &totals[n->function] : NULL;

		if (!total)
			continue;
		total->calls += n->calls;
		if (!is_recursive(t, i)) {
			total->insns += n->total_insns;
			total->ns += n->total_ns;
		}
	}
	for (size_t i = 0; i < count && i < t->n_functions; i++) {
		totals[i].longest_ns = t->longest_ns[i];
		totals[i].average_ns = t->finished[i] ? t->finished_ns[i] / t->finished[i] : 0;
	}
}

/* The way up from a node, as a way down in another tree; each step has the node's own time. */
static void add_callers(const struct call_tree *t, size_t node, struct call_tree *out)
{
	const struct call_node *n = &t->nodes[node];
	uint32_t at = ROOT;

	for (uint32_t i = (uint32_t)node; i != ROOT; i = t->nodes[i].parent) {
		at = child_of(out, at, t->nodes[i].function);
		out->nodes[at].calls += n->calls;
		out->nodes[at].total_insns += n->total_insns;
		out->nodes[at].total_ns += n->total_ns;
		if (i == node) {
			out->nodes[at].self_insns += n->self_insns;
			out->nodes[at].self_ns += n->self_ns;
		}
	}
	out->nodes[ROOT].total_insns += n->total_insns;
	out->nodes[ROOT].total_ns += n->total_ns;
}

/* The subtrees below all nodes of the functions, laid over each other. */
static void add_callees(const struct call_tree *t, const bool *functions, struct call_tree *out)
{
	uint32_t *twin = xcalloc(t->count, sizeof *twin); /* 0: not below such a node */

	for (size_t i = 1; i < t->count; i++) {
		const struct call_node *n = &t->nodes[i];
		struct call_node *to;

		if (!twin[n->parent] && !functions[n->function])
			continue;
		twin[i] = child_of(out, twin[n->parent], n->function);
		to = &out->nodes[twin[i]];
		to->calls += n->calls;
		to->self_insns += n->self_insns;
		to->self_ns += n->self_ns;
	}
	free(twin);
	add_up(out);
}

void call_tree_of(const struct call_tree *t, const bool *functions, bool callers, struct call_tree *ret)
{
	init(ret);
	ret->unmatched = t->unmatched;
	if (!callers) {
		add_callees(t, functions, ret);
		return;
	}
	for (size_t i = 1; i < t->count; i++)
		if (functions[t->nodes[i].function] && !is_recursive(t, i))
			add_callers(t, i, ret);
}
