/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/calltree.h"
#include "base/alloc.h"
#include "commands.h"
#include "debug_arg.h"
#include "trace_arg.h"
#include "view.h"

enum { TOTAL_PCT, TOTAL_INSNS, TOTAL_NS, SELF_INSNS, SELF_NS, CALLS, TAIL_CALLS, DEPTH, INLINED, FUNCTION };

static const struct column columns[] = {
	[TOTAL_PCT] = { "total_pct", "TOTAL %", CELL_PERCENT, "share of all, with callees, by the clock that --clock names" },
	[TOTAL_INSNS] = { "total_insns", "TOTAL INSNS", CELL_AMOUNT, "instructions, with callees" },
	[TOTAL_NS] = { "total_ns", "TOTAL TIME", CELL_DURATION, "guest time, with callees" },
	[SELF_INSNS] = { "self_insns", "SELF INSNS", CELL_AMOUNT, "instructions of its own" },
	[SELF_NS] = { "self_ns", "SELF TIME", CELL_DURATION, "guest time of its own", .hidden = true },
	[CALLS] = { "calls", "CALLS", CELL_COUNT, "how often it was entered on this path" },
	[TAIL_CALLS] = { "tail_calls", "TAIL CALLS", CELL_COUNT, "calls that its caller ended in, by a jump", .hidden = true },
	[DEPTH] = { "depth", "DEPTH", CELL_NUMBER, "functions above it", .hidden = true },
	[INLINED] = { "inlined", "INLINED", CELL_NUMBER, "1: it was made part of its caller, and has nothing of its own", .hidden = true },
	[FUNCTION] = { "function", "FUNCTION", CELL_TEXT, "name, set in below what called it (--callers: below what it called)" },
	{ 0 },
};

/* Which paths are shown. */
struct choice {
	uint64_t depth;   /* 0: all */
	double min_pct;
	bool by_ns;
};

struct row {
	uint32_t node;
	unsigned depth;
};

struct rows {
	const struct names *names;
	const struct call_tree *tree;
	struct row *rows;
	size_t count, cap;
	uint64_t all;
	bool by_ns;
};

static uint64_t total_of(const struct rows *rows, const struct call_node *n)
{
	return rows->by_ns ? n->total_ns : n->total_insns;
}

static double share(const struct rows *rows, const struct call_node *n)
{
	return rows->all ? 100.0 * (double)total_of(rows, n) / (double)rows->all : 0;
}

static void cell(const void *data, size_t row, unsigned column, struct cell *ret, struct buf *scratch)
{
	const struct rows *rows = data;
	const struct call_node *n = &rows->tree->nodes[rows->rows[row].node];
	const char *inlined = rows->tree->inlines ? inlines_name(rows->tree->inlines, n->function) : NULL;

	switch (column) {
	case TOTAL_PCT:
		*ret = (struct cell){ .type = CELL_PERCENT, .percent = share(rows, n) };
		break;
	case TOTAL_INSNS:
		*ret = (struct cell){ .type = CELL_AMOUNT, .number = n->total_insns };
		break;
	case TOTAL_NS:
		*ret = (struct cell){ .type = CELL_DURATION, .number = n->total_ns };
		break;
	case SELF_INSNS:
		*ret = (struct cell){ .type = CELL_AMOUNT, .number = n->self_insns };
		break;
	case SELF_NS:
		*ret = (struct cell){ .type = CELL_DURATION, .number = n->self_ns };
		break;
	case CALLS:
		*ret = (struct cell){ .type = CELL_COUNT, .number = n->calls };
		break;
	case TAIL_CALLS:
		*ret = (struct cell){ .type = CELL_COUNT, .number = n->tail_calls };
		break;
	case DEPTH:
		*ret = (struct cell){ .type = CELL_NUMBER, .number = rows->rows[row].depth };
		break;
	case INLINED:
		*ret = (struct cell){ .type = CELL_NUMBER, .number = inlined != NULL };
		break;
	case FUNCTION:
		if (inlined)
			buf_printf(scratch, "%s (inlined)", inlined);
		*ret = (struct cell){
			.type = CELL_TEXT, .text = inlined ? (char *)scratch->data : names_function(rows->names, n->function),
			.mark = n->calls && n->tail_calls == n->calls ? " <tail>" : NULL, .indent = 2 * rows->rows[row].depth,
		};
		break;
	}
}

/* Sort the children of each node, the largest first. */
struct children {
	uint32_t *list;   /* by parent */
	size_t *first;    /* where the children of a node begin; those of the next node begin where they end */
};

static const struct rows *sorting;

static int by_total(const void *va, const void *vb)
{
	const struct call_node *nodes = sorting->tree->nodes;
	uint32_t a = *(const uint32_t *)va, b = *(const uint32_t *)vb;
	uint64_t ta = total_of(sorting, &nodes[a]), tb = total_of(sorting, &nodes[b]);

	if (ta != tb)
		return ta > tb ? -1 : 1;
	return a < b ? -1 : a > b;
}

static void find_children(const struct rows *rows, struct children *c)
{
	const struct call_tree *t = rows->tree;

	c->list = xcalloc(t->count, sizeof *c->list);
	c->first = xcalloc(t->count + 2, sizeof *c->first);
	for (size_t i = 1; i < t->count; i++)
		c->first[t->nodes[i].parent + 2]++;
	for (size_t i = 2; i < t->count + 2; i++)
		c->first[i] += c->first[i - 1];
	for (size_t i = 1; i < t->count; i++)
		c->list[c->first[t->nodes[i].parent + 1]++] = (uint32_t)i;
	sorting = rows;
	for (size_t i = 0; i < t->count; i++)
		qsort(c->list + c->first[i], c->first[i + 1] - c->first[i], sizeof *c->list, by_total);
}

static void add_row(struct rows *rows, uint32_t node, unsigned depth)
{
	rows->rows = array_grow(rows->rows, rows->count, &rows->cap, sizeof *rows->rows);
	rows->rows[rows->count++] = (struct row){ .node = node, .depth = depth };
}

/* Rows in the order of a walk: callers before their callees, the largest callee first. */
static void choose_rows(struct rows *rows, uint64_t max_depth, double min_pct)
{
	struct children c;
	uint32_t node = 0;
	size_t *at;
	unsigned depth = 0;

	find_children(rows, &c);
	at = xcalloc(rows->tree->count, sizeof *at);
	memcpy(at, c.first, rows->tree->count * sizeof *at);
	for (;;) {
		bool more = at[node] < c.first[node + 1] && (!max_depth || depth < max_depth);
		uint32_t child = more ? c.list[at[node]] : 0;

		if (!more || share(rows, &rows->tree->nodes[child]) < min_pct) {
			if (!depth)
				break;
			node = rows->tree->nodes[node].parent;
			depth--;
			continue;
		}
		at[node]++;
		add_row(rows, child, depth);
		node = child;
		depth++;
	}
	free(at);
	free(c.list);
	free(c.first);
}

static int show(const struct args *args, const struct trace_arg *t, const struct call_tree *all,
		const struct call_tree *tree, const struct choice *choice, struct error *err)
{
	struct rows rows = { .names = &t->names, .tree = tree, .by_ns = choice->by_ns };
	struct view view = { .name = "tree", .what = "calls", .trace = t, .columns = columns, .cell = cell, .data = &rows };
	struct buf heading = { 0 };
	int r;

	rows.all = total_of(&rows, &all->nodes[0]);
	choose_rows(&rows, choice->depth, choice->min_pct);
	view.rows = rows.count;
	buf_printf(&heading, "# ");
	view_put_time(&heading, args, all->nodes[0].total_insns, all->nodes[0].total_ns, UINT64_MAX);
	buf_printf(&heading, "; total %% of %s", rows.by_ns ? "time" : "instructions");
	buf_put_u8(&heading, 0);
	if (!arg(args, "output"))
		view.heading = (char *)heading.data;
	r = view_print(&view, args, err);
	buf_free(&heading);
	free(rows.rows);
	return r;
}

static int analyse(const struct args *args, struct trace_arg *t, struct inlines *inlines, const struct choice *choice,
		   struct error *err)
{
	struct call_tree all, of;
	bool *functions = NULL;
	int r = EXIT_FAILED;

	if (functions_arg(args, &t->names, &functions, err) < 0)
		return EXIT_FAILED;
	trace_arg_open_index(t);
	if (call_tree_analyse(&t->session, is_worth_index(t), inlines, &all, err) == 0) {
		if (functions) {
			call_tree_of(&all, functions, arg(args, "callers"), &of);
			r = show(args, t, &all, &of, choice, err);
			call_tree_deinit(&of);
		} else {
			r = show(args, t, &all, &all, choice, err);
		}
		call_tree_deinit(&all);
	}
	free(functions);
	return r;
}

static int run(const struct args *args, struct error *err)
{
	struct choice choice = { .min_pct = arg(args, "json") ? 0 : 0.5 };
	struct source_lines sources;
	struct inlines inlines;
	struct trace_arg t;
	int r = EXIT_FAILED;

	if (arg(args, "callers") && args->n_operands < 2 && !arg(args, "function")) {
		error_set(err, "--callers: of which function? upto tree --callers TRACE FUNCTION");
		return EXIT_USAGE;
	}
	if (clock_arg(args, &choice.by_ns, err) < 0 || arg_u64(args, "depth", &choice.depth, err) < 0 ||
	    arg_percent(args, "min", &choice.min_pct, err) < 0)
		return EXIT_USAGE;
	if (trace_arg_open(args, &t, err) < 0)
		return EXIT_FAILED;
	thunks_arg(args, &t);
	inlines_init(&inlines, &t.names, &sources);
	if (debug_arg(args, &t.names, &sources, err) == 0)
		r = analyse(args, &t, sources.count ? &inlines : NULL, &choice, err);
	inlines_deinit(&inlines);
	source_lines_deinit(&sources);
	trace_arg_close(&t);
	return r;
}

static const struct option options[] = {
	FUNCTION_OPTION("only what is below these functions, or above with --callers"),
	{ 0, "callers", NULL, "who led to the function, instead of what it led to" },
	{ 0, "depth", "N", "only N levels; 0: all (default)" },
	{ 0, "min", "P", "only paths with at least P percent of all (default: 0.5; JSON: 0)" },
	CLOCK_OPTION,
	THUNKS_OPTION,
	DEBUG_OPTION,
	VIEW_OPTIONS,
	HELP_OPTION,
	{ 0 },
};

static const struct legend legends[] = { { "columns", columns, NULL }, { 0 } };

const struct command cmd_tree = {
	.name = "tree",
	.operands = "TRACE [FUNCTION…]",
	.summary = "what called what, and how long did it take?",
	.description = "Merges the call stacks of all threads into one tree, with self and total time along each path. "
		       "Interrupts are below the function that they interrupted, and what a function jumped to at its end is below it, with "
		       "the mark <tail>.\n"
		       "With FUNCTION (or several), shows only the calls below it or, with --callers, above it.\n"
		       "With --debug, inlined functions have lines of their own, with the calls made from them below; their own "
		       "instructions count for the function that they became part of. FUNCTION means calls of the function with that name, "
		       "not places where it was inlined.\n"
		       THUNKS_NOTE
		       INDEX_NOTE,
	.examples = "  upto tree trace.upto\n      where the time went, from the top\n"
		    "  upto tree --depth 3 trace.upto start_kernel\n      below start_kernel\n"
		    "  upto tree --callers trace.upto kmem_cache_alloc_noprof\n      who asks for memory\n",
	.options = options,
	.legends = legends,
	.min_operands = 1, .max_operands = OPERANDS_MAX,
	.run = run,
};
