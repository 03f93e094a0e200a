/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "cli/args/debug_arg.h"
#include "cli/args/select_arg.h"
#include "cli/args/trace_arg.h"
#include "cli/args/trace_lacks.h"
#include "cli/args/values_arg.h"
#include "cli/commands.h"
#include "cli/print/left_out_note.h"
#include "cli/print/view.h"
#include "tables/tree_table.h"
#include "trace/thinned.h"

static int show(const struct args *args, const struct trace_arg *t, const struct call_tree *all,
		const struct call_tree *tree, const struct tree_choice *choice, struct error *err)
{
	struct view view = { .trace = t, .left_out = "; their time is that of who called them" };
	struct buf heading = { 0 };
	struct table table;
	int r;

	tree_table_init(&table, &t->names, all, tree, choice);
	view.table = &table;
	buf_printf(&heading, "# ");
	view_put_time(&heading, args, t, all->nodes[0].total_insns, all->nodes[0].total_ns, UINT64_MAX);
	buf_printf(&heading, "; total %% of %s", choice->by_ns ? "time" : "instructions");
	buf_put_u8(&heading, 0);
	if (!arg(args, "output"))
		view.heading = (char *)heading.data;
	r = view_print(&view, args, err);
	buf_free(&heading);
	table_deinit(&table);
	return r;
}

static int analyse(const struct args *args, struct trace_arg *t, struct inlines *inlines, struct given *given,
		   const struct tree_choice *choice, const struct span *span, struct error *err)
{
	struct call_tree_options options = { .inlines = inlines, .given = given, .span = span };
	uint32_t *whose = !choice->apart     ? NULL :
			  choice->processes ? call_tree_processes(&t->threads) :
					      call_tree_threads(&t->threads);
	const struct call_tree_apart apart = { .whose = whose, .count = (uint32_t)t->threads.count + 1 };
	struct call_tree all, of;
	bool *functions = NULL;
	int r = EXIT_FAILED;

	if (functions_arg(args, &t->names, &functions, err) < 0) {
		free(whose);
		return EXIT_FAILED;
	}
	if (span)
		trace_arg_index(t);
	else
		trace_arg_open_index(t);
	options.make_index = !span && is_worth_index(t);
	options.apart = whose ? &apart : NULL;
	if (call_tree_analyse(&t->session, &options, &all, err) == 0) {
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
	free(whose);
	return r;
}

/*
 * Functions that are asked for by name are shown however small they are. Of threads, percentages are of what these ran.
 */
static bool is_named(const struct args *args)
{
	static const char *const names[] = { "functions", "below", "module" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (arg(args, names[i]))
			return true;
	return false;
}

/* --by */
static int apart_arg(const struct args *args, struct trace_arg *t, struct tree_choice *choice, struct error *err)
{
	const char *by = arg(args, "by");

	if (!by)
		return 0;
	choice->processes = !strcmp(by, "process");
	if (!choice->processes && strcmp(by, "thread"))
		return error_set(err, "--by %s: process or thread", by);
	if (choice->named || arg(args, "debug"))
		return error_set(err, "--by: not with functions or --debug");
	choice->apart = &t->threads;
	return 0;
}

static int run(const struct args *args, struct error *err)
{
	struct tree_choice choice = {
		.min_pct = arg(args, "json") || is_named(args) ? 0 : 0.5,
		.named = arg(args, "function") || args->n_operands > 1,
	};
	struct source_lines sources = { 0 };
	const struct call_values *asked;
	struct call_values values = { 0 };
	struct inlines inlines;
	struct given given;
	struct trace_arg t;
	struct span span;
	bool all = !arg(args, "from") && !arg(args, "to") && !arg(args, "cpu");
	int r = EXIT_FAILED;

	if (arg(args, "callers") && args->n_operands < 2 && !arg(args, "function")) {
		error_set(err, "--callers: of which function? upto tree --callers TRACE FUNCTION");
		return EXIT_USAGE;
	}
	if (clock_arg(args, &choice.by_ns, err) < 0 || span_arg(args, &span, err) < 0 || arg_u64(args, "depth", &choice.depth, err) < 0 ||
	    arg_percent(args, "min", &choice.min_pct, err) < 0)
		return EXIT_USAGE;
	if (apart_arg(args, &t, &choice, err) < 0)
		return EXIT_USAGE;
	if (trace_arg_open_pass(args, CHOSEN_FOR_EVENTS, folded_options, &t, err) < 0)
		return EXIT_FAILED;
	/* those of other threads have no place in it in any case */
	choice.left_out = left_out_calls(&t) > thinned_left_out(&t.reader->meta, "thread") || t.session.fold ||
			  arg(args, "fold");
	trace_choose_clock(&t, &choice.by_ns);
	thunks_arg(args, &t);
	inlines_init(&inlines, &t.names, &sources);
	given_init(&given, &values);
	choice.with_args = arg(args, "args") && !arg(args, "json");
	if (instruments_arg(args, &t, err) == 0 && debug_arg(args, &t.names, &sources, err) == 0 &&
	    args_arg(args, &t, &values, &asked, err) == 0)
		r = analyse(args, &t, sources.count ? &inlines : NULL, asked ? &given : NULL, &choice,
			    all ? NULL : &span, err);
	given_deinit(&given);
	call_values_deinit(&values);
	inlines_deinit(&inlines);
	source_lines_deinit(&sources);
	trace_arg_close(&t);
	return r;
}

static const struct option options[] = {
	FUNCTION_OPTION("only what is below these functions, or above with --callers"),
	{ 0, "callers", NULL, "who led to the function, instead of what it led to" },
	{ 0, "by", "process|thread", "each process or thread for itself" },
	{ 0, "depth", "N", "only N levels; 0: all (default)" },
	{ 0, "min", "P",
	  "only paths with at least P percent of all, or of functions that are named (default: 0.5; JSON, --module …: 0)" },
	CLOCK_OPTION,
	SPAN_OPTIONS,
	THUNKS_OPTION,
	INSTRUMENTS_OPTION,
	DEBUG_OPTION,
	ARGS_OPTION,
	VIEW_OPTIONS,
	SELECT_SPANS,
	SELECT_RING,
	SELECT_MIN_DURATION,
	SELECT_NO_INTERRUPTS,
	SELECT_CALLS,
	SELECT_PID,
	SELECT_COMM,
	SELECT_CODE,
	HELP_OPTION,
	{ 0 },
};

static const struct legend legends[] = { { "columns", tree_columns, NULL }, LEFT_OUT_LEGEND, { 0 } };

const struct command cmd_tree = {
	.name = "tree",
	.operands = "TRACE [FUNCTION…]",
	.summary = "what called what, and how long did it take?",
	.description =
		"Merges the call stacks of all threads into one tree, with self and total time along each path. "
		"Interrupts are below the function that they interrupted, and what a function jumped to at its end is below it, with "
		"the mark <tail>.\n"
		"With FUNCTION (or several), shows only the calls below it or, with --callers, above it.\n"
		"With --debug, inlined functions have lines of their own, with the calls made from them below; their own "
		"instructions count for the function that they became part of. FUNCTION means calls of the function with that name, "
		"not places where it was inlined.\n"
		"A tree may have millions of rows: JSON has the columns' names once, and rows as arrays, {\"tree\": {\"columns\": [NAME, ...], \"rows\": "
		"[[VALUE, ...], ...]}}, in the order of a walk, each below the last one before it whose depth is smaller by one.\n" THUNKS_NOTE INSTRUMENTS_NOTE INDEX_NOTE,
	.examples = "  upto tree trace.upto\n      where the time went, from the top\n"
		    "  upto tree --depth 3 trace.upto start_kernel\n      below start_kernel\n"
		    "  upto tree --from 1.5s --to 1.6s trace.upto\n      what that tenth of a second went into\n"
		    "  upto tree --by process --depth 4 trace.upto\n      what each process did\n"
		    "  upto tree --callers trace.upto kmem_cache_alloc_noprof\n      who asks for memory\n",
	.needs = "stacks",
	.options = options,
	.legends = legends,
	.min_operands = 1,
	.max_operands = OPERANDS_MAX,
	.run = run,
};
