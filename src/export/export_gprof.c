/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text in the manner of gprof: the flat profile, then for each function who called it and whom it called. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "function_edges.h"
#include "plain_text.h"

struct gprof {
	const struct session *session;
	const struct function_edges *edges;
	bool by_ns;
	struct buf out;
	uint32_t *order; /* functions, the one that ran most first */
	size_t n_order;
	uint32_t *index;        /* by function: its place in the call graph, from 1 on */
	uint32_t *callers;      /* edges by callee */
	uint32_t *first_caller; /* by function, in `callers` */
};

static uint64_t self_of(const struct gprof *g, uint32_t function)
{
	return g->by_ns ? g->edges->functions[function].self_ns : g->edges->functions[function].self_insns;
}

static uint64_t total_of(const struct gprof *g, uint32_t function)
{
	return g->by_ns ? g->edges->functions[function].total_ns : g->edges->functions[function].total_insns;
}

static uint64_t cost_of(const struct gprof *g, const struct function_edge *edge)
{
	return g->by_ns ? edge->ns : edge->insns;
}

static int by_self(const void *a, const void *b, void *gprof)
{
	uint64_t x = self_of(gprof, *(const uint32_t *)a), y = self_of(gprof, *(const uint32_t *)b);

	return x < y ? 1 : x > y ? -1 : *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

static int by_total(const void *a, const void *b, void *gprof)
{
	uint64_t x = total_of(gprof, *(const uint32_t *)a), y = total_of(gprof, *(const uint32_t *)b);

	return x < y ? 1 : x > y ? -1 : *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

static void put_name(struct gprof *g, uint32_t function)
{
	plain_text_put(&g->out, names_function(g->session->names, function));
}

/* Seconds, or millions of instructions. */
static double shown(const struct gprof *g, uint64_t cost)
{
	return (double)cost / (g->by_ns ? 1e9 : 1e6);
}

static int put_flat(struct gprof *g, const struct sink *sink, struct error *err)
{
	uint64_t all = g->by_ns ? g->edges->ns : g->edges->insns, sum = 0;
	const char *unit = g->by_ns ? "seconds" : "Minsns";
	int r = 0;

	buf_printf(&g->out, "Flat profile:\n\nEach function's own %s, of the guest's %s.\n\n",
		   g->by_ns ? "time" : "instructions (in millions)", g->by_ns ? "time" : "instructions");
	buf_printf(&g->out, "  %%   cumulative   self                 self      total\n");
	buf_printf(&g->out, " time   %-9s %-11s   calls  per call  per call  name\n", unit, unit);
	qsort_r(g->order, g->n_order, sizeof *g->order, by_self, g);
	for (size_t i = 0; r == 0 && i < g->n_order; i++) {
		const struct edge_function *f = &g->edges->functions[g->order[i]];
		uint64_t self = self_of(g, g->order[i]);
		double calls = f->calls ? (double)f->calls : 1;

		sum += self;
		buf_printf(&g->out, "%6.2f %12.6f %12.6f %8" PRIu64 " %9.6f %9.6f  ",
			   all ? 100.0 * (double)self / (double)all : 0, shown(g, sum), shown(g, self), f->calls,
			   shown(g, self) / calls, shown(g, total_of(g, g->order[i])) / calls);
		put_name(g, g->order[i]);
		buf_put_u8(&g->out, '\n');
		r = sink_pass(sink, &g->out, err);
	}
	return r;
}

static void put_related(struct gprof *g, const struct function_edge *edge, uint32_t function)
{
	buf_printf(&g->out, "%35.6f %10" PRIu64 "/%-10" PRIu64 "     ", shown(g, cost_of(g, edge)), edge->calls,
		   g->edges->functions[edge->callee].calls);
	if (function == FUNCTION_NONE) {
		buf_printf(&g->out, "<spontaneous>\n");
		return;
	}
	put_name(g, function);
	buf_printf(&g->out, " [%" PRIu32 "]\n", g->index[function]);
}

static void put_entry(struct gprof *g, uint32_t function)
{
	const struct edge_function *f = &g->edges->functions[function];
	uint64_t all = g->by_ns ? g->edges->ns : g->edges->insns, total = total_of(g, function);
	uint64_t self = self_of(g, function);

	for (uint32_t i = g->first_caller[function]; i < g->first_caller[function + 1]; i++)
		put_related(g, &g->edges->list[g->callers[i]], g->edges->list[g->callers[i]].caller);
	buf_printf(&g->out, "[%" PRIu32 "]%*s %5.1f %12.6f %12.6f %10" PRIu64 "         ", g->index[function],
		   g->index[function] < 1000 ? 4 : 1, "", all ? 100.0 * (double)total / (double)all : 0, shown(g, self),
		   shown(g, total - self), f->calls);
	put_name(g, function);
	buf_printf(&g->out, " [%" PRIu32 "]\n", g->index[function]);
	for (uint32_t i = 0; i < f->n_edges; i++)
		put_related(g, &g->edges->list[f->first_edge + i], g->edges->list[f->first_edge + i].callee);
	buf_printf(&g->out, "-----------------------------------------------\n");
}

static int put_graph(struct gprof *g, const struct sink *sink, struct error *err)
{
	int r = 0;

	buf_printf(&g->out, "\n\t\t     Call graph\n\n");
	buf_printf(&g->out, "index  %% time         self     children     called         name\n");
	qsort_r(g->order, g->n_order, sizeof *g->order, by_total, g);
	for (size_t i = 0; i < g->n_order; i++)
		g->index[g->order[i]] = (uint32_t)i + 1;
	for (size_t i = 0; r == 0 && i < g->n_order; i++) {
		put_entry(g, g->order[i]);
		r = sink_pass(sink, &g->out, err);
	}
	return r;
}

/* Functions that ran, and who called them. */
static void arrange(struct gprof *g)
{
	uint32_t functions = (uint32_t)names_count(g->session->names), *next;

	g->order = xcalloc(functions, sizeof *g->order);
	g->index = xcalloc(functions, sizeof *g->index);
	g->callers = xcalloc(g->edges->count + 1, sizeof *g->callers);
	g->first_caller = xcalloc(functions + 1, sizeof *g->first_caller);
	next = xcalloc(functions + 1, sizeof *next);
	for (uint32_t i = 0; i < functions; i++) {
		const struct edge_function *f = &g->edges->functions[i];

		/* whoever is at an end of an edge has a place */
		if (f->calls || f->total_insns || f->total_ns || f->n_edges)
			g->order[g->n_order++] = i;
	}
	for (size_t i = 0; i < g->edges->count; i++)
		g->first_caller[g->edges->list[i].callee + 1]++;
	for (uint32_t i = 0; i < functions; i++)
		next[i + 1] = g->first_caller[i + 1] += g->first_caller[i];
	for (uint32_t i = 0; i < g->edges->count; i++)
		g->callers[next[g->edges->list[i].callee]++] = i;
	free(next);
}

static int put(const struct session *session, const struct export_options *options, const struct sink *sink,
	       struct error *err)
{
	struct gprof g = { .session = session, .by_ns = options->by_ns };
	struct function_edges edges;
	struct sums_tree tree;
	int r = sums_tree_make(session, options, &tree, err);

	if (r == 0) {
		function_edges_make(&tree, &edges);
		g.edges = &edges;
		arrange(&g);
		r = put_flat(&g, sink, err);
		if (r == 0)
			r = put_graph(&g, sink, err);
		r = sink_end(sink, &g.out, r, err);
		function_edges_deinit(&edges);
	}
	sums_tree_deinit(&tree);
	free(g.order);
	free(g.index);
	free(g.callers);
	free(g.first_caller);
	return r;
}

const struct exporter export_gprof = {
	.name = "gprof",
	.help = "text in the manner of gprof: the flat profile and the call graph",
	.kind = EXPORTS_SUMS,
	.put = put,
};
