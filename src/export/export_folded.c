/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Folded stacks, as flame graphs are made of: a line for each path of calls, "outermost;…;innermost weight", with what
 * ran in the innermost function itself. The weights add up to all that ran.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "sums_tree.h"

/* A semicolon ends a frame and a line end the path. */
static void put_name(struct buf *out, const char *name)
{
	for (; *name; name++)
		buf_put_u8(out, *name == ';' ? ':' : (unsigned char)*name < ' ' ? '?' : (uint8_t)*name);
}

static void put_path(const struct sums_tree *t, uint32_t node, struct buf *name, struct buf *out)
{
	uint32_t *path = NULL;
	size_t n = 0, cap = 0;

	for (; node; node = t->tree.nodes[node].parent) {
		path = array_grow(path, n, &cap, sizeof *path);
		path[n++] = node;
	}
	if (!n)
		buf_printf(out, "[unknown]");
	while (n-- > 0) {
		name->len = 0;
		sums_tree_name(t, path[n], name);
		buf_put_u8(name, 0);
		put_name(out, (char *)name->data);
		if (n)
			buf_put_u8(out, ';');
	}
	free(path);
}

static int put_tree(const struct sums_tree *t, const struct sink *sink, struct error *err)
{
	struct buf text = { 0 }, name = { 0 };
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < t->tree.count; i++) {
		uint64_t weight = sums_tree_self(t, i);

		if (!weight)
			continue;
		put_path(t, i, &name, &text);
		buf_printf(&text, " %" PRIu64 "\n", weight);
		r = sink_pass(sink, &text, err);
	}
	buf_free(&name);
	return sink_end(sink, &text, r, err);
}

static int put(const struct session *session, const struct export_options *options, const struct sink *sink,
	       struct error *err)
{
	struct sums_tree tree;
	int r = sums_tree_make(session, options, &tree, err);

	if (r == 0)
		r = put_tree(&tree, sink, err);
	sums_tree_deinit(&tree);
	return r;
}

const struct exporter export_folded = {
	.name = "folded",
	.help = "paths of calls with what ran at their ends, for flame graphs",
	.kind = EXPORTS_SUMS,
	.split = true,
	.put = put,
};
