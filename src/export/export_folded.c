/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Folded stacks, as flame graphs are made of: a line for each path of calls, "outermost;…;innermost weight", with what
 * ran in the innermost function itself. The weights add up to all that ran.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/calls/calltree.h"
#include "base/alloc.h"
#include "export.h"

/* A semicolon ends a frame and a line end the path. */
static void put_name(struct buf *out, const char *name)
{
	for (; *name; name++)
		buf_put_u8(out, *name == ';' ? ':' : (unsigned char)*name < ' ' ? '?' : (uint8_t)*name);
}

static void put_path(const struct session *session, const struct call_tree *t, uint32_t node, struct buf *out)
{
	uint32_t *path = NULL;
	size_t n = 0, cap = 0;

	if (!node) {
		buf_printf(out, "[unknown]");
		return;
	}
	for (; node; node = t->nodes[node].parent) {
		path = array_grow(path, n, &cap, sizeof *path);
		path[n++] = node;
	}
	while (n-- > 0) {
		put_name(out, names_function(session->names, t->nodes[path[n]].function));
		if (n)
			buf_put_u8(out, ';');
	}
	free(path);
}

static int put_tree(const struct session *session, const struct call_tree *t, bool by_ns, const struct sink *sink,
		    struct error *err)
{
	struct buf text = { 0 };
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < t->count; i++) {
		uint64_t weight = by_ns ? t->nodes[i].self_ns : t->nodes[i].self_insns;

		if (!weight)
			continue;
		put_path(session, t, i, &text);
		buf_printf(&text, " %" PRIu64 "\n", weight);
		r = sink_pass(sink, &text, err);
	}
	return sink_end(sink, &text, r, err);
}

static int put(const struct session *session, const struct export_options *options, const struct sink *sink,
	       struct error *err)
{
	const struct call_tree_options paths = { .make_index = options->make_index };
	struct call_tree tree;

	if (call_tree_analyse(session, &paths, &tree, err) < 0)
		return -1;
	if (put_tree(session, &tree, options->by_ns, sink, err) < 0) {
		call_tree_deinit(&tree);
		return -1;
	}
	call_tree_deinit(&tree);
	return 0;
}

const struct exporter export_folded = {
	.name = "folded",
	.help = "paths of calls with what ran at their ends, for flame graphs",
	.heeds_threads = true,
	.has_clock = true,
	.put = put,
};
