/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A profile as valgrind's callgrind writes it, for callgrind_annotate and KCachegrind: instructions and guest time. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "function_edges.h"
#include "plain_text.h"

struct callgrind {
	const struct session *session;
	struct buf out;
	bool *named;        /* by function: its name has its number */
	struct map objects; /* name → number */
};

static void put_object(struct callgrind *c, const char *key, uint32_t function)
{
	const char *object = names_object(c->session->names, function);
	uint64_t *number;

	object = *object ? object : names_is_user(c->session->names, function) ? "user" : "kernel";
	number = map_put(&c->objects, hash_text(1, object), 0);
	if (*number) {
		buf_printf(&c->out, "%s=(%" PRIu64 ")\n", key, *number);
		return;
	}
	*number = c->objects.count;
	buf_printf(&c->out, "%s=(%" PRIu64 ") ", key, *number);
	plain_text_put(&c->out, object);
	buf_put_u8(&c->out, '\n');
}

static void put_function(struct callgrind *c, const char *key, uint32_t function)
{
	buf_printf(&c->out, "%s=(%" PRIu32 ")", key, function + 1);
	if (!c->named[function]) {
		buf_put_u8(&c->out, ' ');
		plain_text_put(&c->out, names_function(c->session->names, function));
	}
	c->named[function] = true;
	buf_put_u8(&c->out, '\n');
}

static void put_costs(struct callgrind *c, const struct function_edges *e, uint32_t function)
{
	const struct edge_function *f = &e->functions[function];

	put_object(c, "ob", function);
	put_function(c, "fn", function);
	buf_printf(&c->out, "0 %" PRIu64 " %" PRIu64 "\n", f->self_insns, f->self_ns);
	for (uint32_t i = 0; i < f->n_edges; i++) {
		const struct function_edge *edge = &e->list[f->first_edge + i];

		put_object(c, "cob", edge->callee);
		put_function(c, "cfn", edge->callee);
		buf_printf(&c->out, "calls=%" PRIu64 " 0\n0 %" PRIu64 " %" PRIu64 "\n", edge->calls, edge->insns,
			   edge->ns);
	}
	buf_put_u8(&c->out, '\n');
}

static int put_all(struct callgrind *c, const struct function_edges *e, const char *title, const struct sink *sink,
		   struct error *err)
{
	int r = 0;

	buf_printf(&c->out, "# callgrind format\nversion: 1\ncreator: upto\npid: 0\ncmd: ");
	plain_text_put(&c->out, title);
	buf_printf(&c->out,
		   "\npart: 1\n\npositions: line\nevent: Ir : instructions\nevent: ns : guest time\nevents: Ir ns\n"
		   "summary: %" PRIu64 " %" PRIu64 "\n\n",
		   e->insns, e->ns);
	for (uint32_t i = 0; r == 0 && i < names_count(c->session->names); i++) {
		const struct edge_function *f = &e->functions[i];

		if (!f->calls && !f->self_insns && !f->self_ns && !f->n_edges)
			continue;
		put_costs(c, e, i);
		r = sink_pass(sink, &c->out, err);
	}
	if (e->unknown_insns || e->unknown_ns)
		buf_printf(&c->out, "fn=(0) [unknown]\n0 %" PRIu64 " %" PRIu64 "\n\n", e->unknown_insns, e->unknown_ns);
	buf_printf(&c->out, "totals: %" PRIu64 " %" PRIu64 "\n", e->insns, e->ns);
	return sink_end(sink, &c->out, r, err);
}

static int put(const struct session *session, const struct export_options *options, const struct sink *sink,
	       struct error *err)
{
	struct callgrind c = { .session = session, .named = xcalloc(names_count(session->names), sizeof *c.named) };
	struct function_edges edges;
	struct sums_tree tree;
	int r = sums_tree_make(session, options, &tree, err);

	if (r == 0) {
		function_edges_make(&tree, &edges);
		r = put_all(&c, &edges, options->title, sink, err);
		function_edges_deinit(&edges);
	}
	sums_tree_deinit(&tree);
	map_free(&c.objects);
	free(c.named);
	return r;
}

const struct exporter export_callgrind = {
	.name = "callgrind",
	.help = "a profile for KCachegrind and callgrind_annotate",
	.kind = EXPORTS_SUMS,
	.put = put,
};
