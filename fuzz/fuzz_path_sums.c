/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums of paths as TRACE.sums keeps them, and the trees that are made of them for all spans of their segments. */
#include "fuzz.h"

#include "analysis/calls/path_sums_file.h"

enum { FUNCTIONS = 16, WHOSE = 4, SPANS_MAX = 8 };

/* Whatever they say, a tree's totals are the sums of its nodes, and rests have nothing below them. */
static void use(const struct path_sums *sums, size_t first, size_t n)
{
	uint64_t insns = 0, ns = 0;
	struct path_least least;
	struct call_tree t;

	call_tree_init(&t);
	path_sums_add(sums, first, n, 2000, &t, &least);
	call_tree_add_up(&t);
	for (size_t i = 0; i < t.count; i++) {
		insns += t.nodes[i].self_insns;
		ns += t.nodes[i].self_ns;
		must(!i || t.nodes[i].parent < i);
		must(!i || t.nodes[t.nodes[i].parent].function != CALL_TREE_REST);
		must(!i || (t.nodes[i].parent == 0) == !!(t.nodes[i].function & CALL_TREE_WHOSE));
	}
	must(t.nodes[0].total_insns == insns && t.nodes[0].total_ns == ns);
	call_tree_deinit(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct guarded g = guarded_copy(data, size, 1);
	struct cursor in = cursor_over(g.data, size);
	struct path_sums *sums;
	struct error err;

	if (path_sums_decode(&in, FUNCTIONS, WHOSE, &sums, &err) == 0) {
		size_t first, n = path_sums_segments(sums, &(struct span){ .to_ns = UINT64_MAX, .cpu = -1 }, &first);

		for (size_t i = 0; i < n && i < SPANS_MAX; i++)
			use(sums, first + i, n - i);
		path_sums_free(sums);
	}
	guarded_free(&g);
	return 0;
}
