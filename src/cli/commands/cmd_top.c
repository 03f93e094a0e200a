/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "analysis/sums/function_analysis.h"
#include "cli/args/select_arg.h"
#include "cli/args/trace_arg.h"
#include "cli/args/trace_lacks.h"
#include "cli/commands.h"
#include "cli/print/left_out_note.h"
#include "cli/print/view.h"
#include "tables/interrupts_table.h"
#include "tables/sums_table.h"
#include "tables/top_table.h"
#include "top_by.h"

/* Shares stand beside what they are shares of. */
#define BY_INSNS "function,section,calls,self_insns,self_pct,self_ns"
#define BY_TOTAL_INSNS "function,section,calls,self_insns,self_pct,total_insns,total_pct,average_ns,longest_ns"
#define BY_TOTAL_NS \
	"function,section,calls,self_insns,self_ns,self_pct,total_insns,total_ns,total_pct,average_ns,longest_ns"

static const char *left_out(const struct trace_arg *t, const struct span *span, bool totals)
{
	if (!totals)
		return top_by_left_out(t, span);
	return t->threads.chosen ? "; self sums are of all that the chosen threads ran, total ones of the other calls"
				 : "; self sums are of all that ran, total ones of the other calls";
}

static int show(const struct args *args, const struct trace_arg *t, const struct span *span, const struct functions *f,
		const struct function_total *totals, const struct top_choice *choice, struct error *err)
{
	bool by_ns = choice->by_ns;
	struct table table;
	struct view view = {
		.table = &table,
		.trace = t,
		.left_out = left_out(t, span, totals),
		.default_output = totals  ? (by_ns ? BY_TOTAL_NS : BY_TOTAL_INSNS)
				  : by_ns ? NULL
					  : BY_INSNS,
		.default_sort = totals  ? (by_ns ? "total_ns" : "total_insns")
				: by_ns ? "self_ns"
					: "self_insns",
	};
	struct buf heading = { 0 };
	int r;

	top_table_init(&table, &t->names, f, totals, choice);
	buf_printf(&heading, "# ");
	view_put_time(&heading, args, t, f->insns, f->ns, f->halted_ns);
	buf_printf(&heading, "; self %% of %s", by_ns ? "time" : "instructions");
	buf_put_u8(&heading, 0);
	if (!arg(args, "output"))
		view.heading = (char *)heading.data;
	r = view_print(&view, args, err);
	buf_free(&heading);
	table_deinit(&table);
	return r;
}

static int analyse(struct trace_arg *t, const struct span *span, bool total, struct functions *ret,
		   struct function_total **ret_totals, struct error *err)
{
	if (total) {
		trace_arg_open_index(t);
		if (totals_analyse(&t->session, is_worth_index(t), ret, ret_totals, err) < 0)
			return -1;
		if (!left_out_calls(t))
			return 0;
		functions_deinit(ret);
	}
	if (t->session.fold)
		trace_arg_index(t);
	return functions_analyse(&t->session, span, ret, err);
}

/* What the order goes by is what shares are of, unless --clock says otherwise. */
static int order_arg(const struct args *args, bool *ret_by_ns, struct error *err)
{
	const char *sort = arg(args, "sort");
	size_t len = sort ? strlen(sort) : 0;

	if (clock_arg(args, ret_by_ns, err) < 0)
		return -1;
	if (!arg(args, "clock"))
		*ret_by_ns = len > 3 && (!strcmp(sort + len - 3, "_ns") || !strcasecmp(sort + len - 2, " s"));
	return 0;
}

/* Functions only choose rows of sums that are of all calls; those that --not names are folded, and the like. */
#define IN_PASS "pid", "comm", "functions", "not", "below", "depth"
/* These choose which calls remain: sums are of all the same. */
#define OF_CALLS "min-duration", "max-duration", "no-interrupts", "only-interrupts"

/*
 * What calls that are left out lack in the sums is known of the whole of the chosen spans only. Of a part of them, the
 * trace itself is summed up, which has all.
 */
static int open_chosen(const struct args *args, const struct span *span, enum sums_by by, struct trace_arg *ret,
		       struct error *err)
{
	static const char *const in_pass[] = { IN_PASS, NULL }, *const in_part[] = { IN_PASS, OF_CALLS, NULL },
		*const of_calls[] = { OF_CALLS, NULL };
	bool part = !span_is_all(span) && by != BY_INTERRUPT;

	if (trace_arg_open_pass(args, CHOSEN_FOR_EVENTS, part ? in_part : in_pass, ret, err) < 0)
		return -1;
	if (ret->in_pass && part && select_is_only(args, of_calls)) {
		free(ret->in_pass);
		ret->in_pass = NULL;
	}
	return 0;
}

static int run(const struct args *args, struct error *err)
{
	struct functions f;
	struct trace_arg t;
	struct span span;
	struct function_total *totals = NULL;
	struct top_choice choice = { 0 };
	bool *only = NULL, *chosen = NULL;
	enum sums_by by;
	int r = EXIT_FAILED;

	if (arg(args, "total") && (arg(args, "from") || arg(args, "to") || arg(args, "boot") || arg(args, "cpu"))) {
		error_set(err, "--total: only of the whole trace, not with --from, --to, --boot or --cpu");
		return EXIT_USAGE;
	}
	if (order_arg(args, &choice.by_ns, err) < 0 || span_arg(args, &span, err) < 0 ||
	    arg_percent(args, "min", &choice.min_pct, err) < 0)
		return EXIT_USAGE;
	if (top_by_arg(args, &by, err) < 0)
		return EXIT_USAGE;
	if (by != BY_FUNCTION && (arg(args, "total") || arg(args, "min") || arg(args, "kernel") || arg(args, "user") ||
				  arg(args, "module") || arg(args, "function") || arg(args, "functions") ||
				  args->n_operands > 1)) {
		error_set(err, "--by %s: not with --total, --min, --kernel, --user, --module or functions",
			  arg(args, "by"));
		return EXIT_USAGE;
	}
	if (by >= BY_PROCESS && arg(args, "below")) {
		error_set(err, "--by %s: not with --below: what a thread runs is added up whole", arg(args, "by"));
		return EXIT_USAGE;
	}
	if (open_chosen(args, &span, by, &t, err) < 0)
		return EXIT_FAILED;
	if (select_functions(args, &t.names, t.session.fold, &chosen, err) < 0) {
		free(chosen);
		trace_arg_close(&t);
		return EXIT_FAILED;
	}
	trace_choose_clock(&t, &choice.by_ns);
	thunks_arg(args, &t);
	if (instruments_arg(args, &t, err) < 0) {
		free(chosen);
		trace_arg_close(&t);
		return EXIT_FAILED;
	}
	if (by != BY_FUNCTION) {
		r = by == BY_INTERRUPT ? top_by_interrupt_show(args, &t, &span, choice.by_ns, err) :
					 top_by_show(args, &t, &span, by, choice.by_ns, err);
		free(chosen);
		trace_arg_close(&t);
		return r;
	}
	if (only_arg(args, &t.names, &only, err) == 0 &&
	    analyse(&t, &span, arg(args, "total"), &f, &totals, err) == 0) {
		for (uint32_t i = 0; i < names_count(&t.names); i++)
			only[i] = only[i] && chosen[i];
		choice.functions = only;
		r = show(args, &t, &span, &f, totals, &choice, err);
		functions_deinit(&f);
	}
	free(only);
	free(chosen);
	free(totals);
	trace_arg_close(&t);
	return r;
}

static const struct option options[] = {
	VIEW_OPTIONS,
	THUNKS_OPTION,
	INSTRUMENTS_OPTION,
	SPAN_OPTIONS,
	ONLY_OPTIONS,
	{ 0, "by", "WHAT",
	  "sum by function (default), module (programs and libraries too), section, process, thread or interrupt" },
	{ 0, "total", NULL, "also time with callees, in all, on average and at most, and order by it; takes longer" },
	{ 0, "min", "P", "only functions with at least P percent" },
	{ .name = "min-pct", .means = "min" },
	CLOCK_OPTION,
	SELECT_SPANS,
	SELECT_RING,
	SELECT_MIN_DURATION,
	SELECT_NO_INTERRUPTS,
	SELECT_CALLS,
	SELECT_DEPTH,
	SELECT_PID,
	SELECT_COMM,
	HELP_OPTION,
	{ 0 },
};

static const struct legend legends[] = {
	{ "columns", top_columns, NULL }, { "columns with --by", sums_columns, NULL },
	{ "columns with --by interrupt", interrupts_columns, NULL }, LEFT_OUT_LEGEND, { 0 },
};

const struct command cmd_top = {
	.name = "top",
	.operands = "TRACE [FUNCTION…]",
	.summary = "which functions consume the most time?",
	.description =
		"Lists functions by self time: instructions and guest time spent in the function's own code, "
		"its callees' not counted. Halted time is nobody's and is told apart.\n"
		"Code without symbols is one row: of a program or library [busybox], of others [firmware], [decompressor],\n"
		"[kernel] (no function's), [user] (nothing told what was mapped there), [trampoline] (where other vCPUs begin).\n"
		"Sums are of all calls, also where the trace, or what is chosen of it, has only those that took long, or those of some functions: "
		"so they are the same as of the whole, but for a part of a file that calls were left out of: there their callers have their time. --functions says which functions are shown. The time of those that --not names, and of calls that are deeper than --depth, is "
		"their callers'. --below says in which functions: sums are of what ran in them, with all that they called. --pid and --comm say whose time it is: "
		"sums are of all that these threads ran. Total times are those of the calls that remain.\n" THUNKS_NOTE
			INSTRUMENTS_NOTE INDEX_NOTE,
	.examples =
		"  upto top trace.upto\n      the functions that ran longest\n"
		"  upto top --clock ns --from 1s --to 2s trace.upto\n      by guest time, in the second second\n"
		"  upto top --total trace.upto\n      by time with callees\n"
		"  upto top --by interrupt trace.upto\n      how often each interrupt came, and how long its handler took\n"
		"  upto top --by process trace.upto\n      which processes ran longest\n"
		"  upto top -o function,calls -s calls trace.upto\n      the functions entered most\n",
	.options = options,
	.legends = legends,
	.of_all = true,
	.min_operands = 1,
	.max_operands = OPERANDS_MAX,
	.run = run,
};
