/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sums_tree.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"

/* What is small becomes its parent's own. Children come after their parents. */
static void cut(struct sums_tree *t, uint64_t smallest)
{
	struct call_node *nodes = t->tree.nodes;

	for (size_t i = t->tree.count; i-- > 1;) {
		struct call_node *parent = &nodes[nodes[i].parent];

		if (sums_tree_total(t, (uint32_t)i) >= smallest || sums_tree_is_whose(t, (uint32_t)i))
			continue;
		parent->self_insns += nodes[i].self_insns;
		parent->self_ns += nodes[i].self_ns;
		nodes[i].calls = nodes[i].tail_calls = 0;
		nodes[i].self_insns = nodes[i].self_ns = nodes[i].total_insns = nodes[i].total_ns = 0;
	}
}

int sums_tree_make(const struct session *session, const struct export_options *options, struct sums_tree *ret,
		   struct error *err)
{
	struct call_tree_options paths = { .make_index = options->make_index };
	struct call_tree_apart apart;

	*ret = (struct sums_tree){ .session = session, .by_ns = options->by_ns };
	if (options->split != SPLIT_NONE)
		ret->whose = options->split == SPLIT_THREAD ? call_tree_threads(session->threads)
							    : call_tree_processes(session->threads);
	apart = (struct call_tree_apart){ .whose = ret->whose, .count = (uint32_t)session->threads->count + 1 };
	if (ret->whose)
		paths.apart = &apart;
	if (call_tree_analyse(session, &paths, &ret->tree, err) < 0)
		return -1;
	if (options->smallest)
		cut(ret, options->smallest);
	return 0;
}

void sums_tree_deinit(struct sums_tree *t)
{
	call_tree_deinit(&t->tree);
	free(t->whose);
}

void sums_tree_name(const struct sums_tree *t, uint32_t node, struct buf *out)
{
	uint32_t function = t->tree.nodes[node].function;
	const struct thread *thread;

	if (!node) {
		buf_printf(out, "[unknown]");
	} else if (!sums_tree_is_whose(t, node)) {
		buf_printf(out, "%s", names_function(t->session->names, function));
	} else {
		thread = threads_at(t->session->threads, (long)(function & ~(uint32_t)CALL_TREE_WHOSE) - 1);
		buf_printf(out, "%s", threads_comm(t->session->threads, thread, thread ? thread->end_ns : 0));
		if (thread)
			buf_printf(out, " (%" PRId32 ")", thread->pid);
	}
}

static int by_total(const void *a, const void *b, void *tree)
{
	const struct sums_tree *t = tree;
	uint64_t x = sums_tree_total(t, *(const uint32_t *)a);
	uint64_t y = sums_tree_total(t, *(const uint32_t *)b);

	return x < y ? 1 : x > y ? -1 : *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

void sums_children_make(const struct sums_tree *t, struct sums_children *ret)
{
	size_t n = t->tree.count;
	uint32_t *next = xcalloc(n + 1, sizeof *next);

	ret->first = xcalloc(n + 1, sizeof *ret->first);
	ret->list = xcalloc(n, sizeof *ret->list);
	for (size_t i = 1; i < n; i++)
		ret->first[t->tree.nodes[i].parent + 1]++;
	for (size_t i = 0; i < n; i++)
		next[i + 1] = ret->first[i + 1] += ret->first[i];
	next[0] = 0;
	for (size_t i = 1; i < n; i++)
		ret->list[next[t->tree.nodes[i].parent]++] = (uint32_t)i;
	free(next);
	for (size_t i = 0; i < n; i++)
		qsort_r(ret->list + ret->first[i], ret->first[i + 1] - ret->first[i], sizeof *ret->list, by_total,
			(void *)t);
}

void sums_children_deinit(struct sums_children *c)
{
	free(c->first);
	free(c->list);
}
