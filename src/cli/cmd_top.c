/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/totals.h"
#include "base/alloc.h"
#include "commands.h"
#include "top_by.h"
#include "top_interrupts.h"
#include "trace_arg.h"
#include "view.h"

enum { FUNCTION, SECTION, CALLS, SELF_INSNS, SELF_NS, SELF_PCT, TOTAL_INSNS, TOTAL_NS, TOTAL_PCT, AVERAGE, LONGEST, ADDRESS, OBJECT };

static const struct column columns[] = {
	[FUNCTION] = { "function", "FUNCTION", CELL_TEXT, "name; in brackets alone: code without symbols" },
	[SECTION] = { "section", "SECTION", CELL_TEXT, "section of the kernel image" },
	[CALLS] = { "calls", "CALLS", CELL_COUNT, "entries at the first instruction" },
	[SELF_INSNS] = { "self_insns", "SELF INSNS", CELL_AMOUNT, "instructions of its own, callees' not counted" },
	[SELF_NS] = { "self_ns", "SELF TIME", CELL_DURATION, "guest time in it, callees' not counted" },
	[SELF_PCT] = { "self_pct", "SELF %", CELL_PERCENT, "share of all, of what --sort or --clock orders by" },
	[TOTAL_INSNS] = { "total_insns", "TOTAL INSNS", CELL_AMOUNT, "with --total: instructions, callees' too; recursion counted once",
			  .hidden = true },
	[TOTAL_NS] = { "total_ns", "TOTAL TIME", CELL_DURATION, "with --total: guest time that its threads ran, callees' too",
		       .hidden = true },
	[TOTAL_PCT] = { "total_pct", "TOTAL %", CELL_PERCENT, "with --total: share of all, of what --sort or --clock orders by", .hidden = true },
	[AVERAGE] = { "average_ns", "AVERAGE", CELL_DURATION, "with --total: time of a call that returned, callees' too", .hidden = true },
	[LONGEST] = { "longest_ns", "LONGEST", CELL_DURATION, "with --total: of the longest call", .hidden = true },
	[ADDRESS] = { "address", "ADDRESS", CELL_ADDRESS, "where it ran: functions of the kernel image", .hidden = true },
	[OBJECT] = { "object", "OBJECT", CELL_TEXT, "module, program or library", .hidden = true },
	{ 0 },
};

struct rows {
	const struct names *names;
	const struct functions *functions;
	const struct function_total *totals; /* NULL: not asked for */
	uint32_t *index;
	size_t count;
	bool by_ns;
};

static double share(const struct rows *rows, const struct function_stat *s)
{
	uint64_t all = rows->by_ns ? rows->functions->ns : rows->functions->insns;
	uint64_t part = rows->by_ns ? s->self_ns : s->self_insns;

	return all ? 100.0 * (double)part / (double)all : 0;
}

static double total_share(const struct rows *rows, uint32_t function)
{
	uint64_t all = rows->by_ns ? rows->functions->ns : rows->functions->insns;
	uint64_t part = rows->by_ns ? rows->totals[function].ns : rows->totals[function].insns;

	return all ? 100.0 * (double)part / (double)all : 0;
}

/* The average or the longest time of the function's calls, if any returned. */
static void time_of_calls(const struct rows *rows, uint32_t function, bool average, struct cell *ret)
{
	const struct function_total *t = &rows->totals[function];

	if (t->finished)
		*ret = (struct cell){ .type = CELL_DURATION, .number = average ? t->finished_ns / t->finished : t->longest_ns };
	else if (rows->functions->stats[function].calls)
		*ret = (struct cell){ .text = "unfinished" };
}

static void cell(const void *data, size_t row, unsigned column, struct cell *ret, struct buf *scratch)
{
	const struct rows *rows = data;
	uint32_t function = rows->index[row];
	const struct function_stat *s = &rows->functions->stats[function];
	uint64_t address;

	(void)scratch;
	if (!rows->totals && column >= TOTAL_INSNS && column <= LONGEST)
		return;
	switch (column) {
	case TOTAL_INSNS:
		*ret = (struct cell){ .type = CELL_AMOUNT, .number = rows->totals[function].insns };
		break;
	case TOTAL_NS:
		*ret = (struct cell){ .type = CELL_DURATION, .number = rows->totals[function].ns };
		break;
	case TOTAL_PCT:
		*ret = (struct cell){ .type = CELL_PERCENT, .percent = total_share(rows, function) };
		break;
	case AVERAGE:
		time_of_calls(rows, function, true, ret);
		break;
	case LONGEST:
		time_of_calls(rows, function, false, ret);
		break;
	case ADDRESS:
		if (names_own_address(rows->names, function, &address))
			*ret = (struct cell){ .type = CELL_ADDRESS, .number = address };
		break;
	case FUNCTION:
		*ret = (struct cell){ .type = CELL_TEXT, .text = names_function(rows->names, function) };
		break;
	case OBJECT:
		*ret = (struct cell){ .type = CELL_TEXT, .text = names_object(rows->names, function) };
		break;
	case SECTION:
		*ret = (struct cell){ .type = CELL_TEXT, .text = names_section(rows->names, function) };
		break;
	case CALLS:
		*ret = (struct cell){ .type = CELL_COUNT, .number = s->calls };
		break;
	case SELF_INSNS:
		*ret = (struct cell){ .type = CELL_AMOUNT, .number = s->self_insns };
		break;
	case SELF_NS:
		*ret = (struct cell){ .type = CELL_DURATION, .number = s->self_ns };
		break;
	case SELF_PCT:
		*ret = (struct cell){ .type = CELL_PERCENT, .percent = share(rows, s) };
		break;
	}
}

static void choose_rows(struct rows *rows, const bool *only, double min_pct)
{
	const struct functions *f = rows->functions;

	rows->index = xcalloc(f->count, sizeof *rows->index);
	for (size_t i = 0; i < f->count; i++)
		if (only[i] && (f->stats[i].calls || f->stats[i].self_insns || f->stats[i].self_ns) &&
		    share(rows, &f->stats[i]) >= min_pct)
			rows->index[rows->count++] = (uint32_t)i;
}

/* Shares stand beside what they are shares of. */
#define BY_INSNS "function,section,calls,self_insns,self_pct,self_ns"
#define BY_TOTAL_INSNS "function,section,calls,self_insns,self_pct,total_insns,total_pct,average_ns,longest_ns"
#define BY_TOTAL_NS "function,section,calls,self_insns,self_ns,self_pct,total_insns,total_ns,total_pct,average_ns,longest_ns"

static int show(const struct args *args, const struct trace_arg *t, const struct functions *f,
		const struct function_total *totals, const bool *only, bool by_ns, double min_pct, struct error *err)
{
	struct buf heading = { 0 };
	struct rows rows = { .names = &t->names, .functions = f, .totals = totals, .by_ns = by_ns };
	struct view view = {
		.name = "functions", .what = "functions", .trace = t, .columns = columns,
		.default_output = totals ? (by_ns ? BY_TOTAL_NS : BY_TOTAL_INSNS) : by_ns ? NULL : BY_INSNS,
		.default_sort = totals ? (by_ns ? "total_ns" : "total_insns") : by_ns ? "self_ns" : "self_insns",
		.cell = cell, .data = &rows,
	};
	int r;

	choose_rows(&rows, only, min_pct);
	view.rows = rows.count;
	buf_printf(&heading, "# ");
	view_put_time(&heading, args, f->insns, f->ns, f->halted_ns);
	buf_printf(&heading, "; self %% of %s", rows.by_ns ? "time" : "instructions");
	buf_put_u8(&heading, 0);
	if (!arg(args, "output"))
		view.heading = (char *)heading.data;
	r = view_print(&view, args, err);
	buf_free(&heading);
	free(rows.index);
	return r;
}

static int analyse(struct trace_arg *t, const struct span *span, bool total, struct functions *ret,
		   struct function_total **ret_totals, struct error *err)
{
	if (!total)
		return functions_analyse(t->reader, &t->names, span, ret, err);
	trace_arg_open_index(t);
	return totals_analyse(&t->session, is_worth_index(t), ret, ret_totals, err);
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

static int run(const struct args *args, struct error *err)
{
	struct functions f;
	struct trace_arg t;
	struct span span;
	struct function_total *totals = NULL;
	bool *only = NULL;
	double min_pct = 0;
	enum sums_by by;
	bool by_ns;
	int r = EXIT_FAILED;

	if (arg(args, "total") && (arg(args, "from") || arg(args, "to") || arg(args, "cpu"))) {
		error_set(err, "--total: only of the whole trace, not with --from, --to or --cpu");
		return EXIT_USAGE;
	}
	if (order_arg(args, &by_ns, err) < 0 || span_arg(args, &span, err) < 0 || arg_percent(args, "min", &min_pct, err) < 0)
		return EXIT_USAGE;
	if (top_by_arg(args, &by, err) < 0)
		return EXIT_USAGE;
	if (by != BY_FUNCTION && (arg(args, "total") || arg(args, "min") || arg(args, "kernel") || arg(args, "user") || arg(args, "module") ||
				  arg(args, "function") || args->n_operands > 1)) {
		error_set(err, "--by %s: not with --total, --min, --kernel, --user, --module or functions", arg(args, "by"));
		return EXIT_USAGE;
	}
	if (trace_arg_open(args, &t, err) < 0)
		return EXIT_FAILED;
	thunks_arg(args, &t);
	if (by != BY_FUNCTION) {
		r = by == BY_INTERRUPT ? top_interrupts_show(args, &t, &span, by_ns, err) :
					 top_by_show(args, &t, &span, by, by_ns, err);
		trace_arg_close(&t);
		return r;
	}
	if (only_arg(args, &t.names, &only, err) == 0 && analyse(&t, &span, arg(args, "total"), &f, &totals, err) == 0) {
		r = show(args, &t, &f, totals, only, by_ns, min_pct, err);
		functions_deinit(&f);
	}
	free(only);
	free(totals);
	trace_arg_close(&t);
	return r;
}

static const struct option options[] = {
	VIEW_OPTIONS,
	THUNKS_OPTION,
	SPAN_OPTIONS,
	ONLY_OPTIONS,
	{ 0, "by", "WHAT", "sum by function (default), module (programs and libraries too), section, process, thread or interrupt" },
	{ 0, "total", NULL, "also time with callees, in all, on average and at most, and order by it; takes longer" },
	{ 0, "min", "P", "only functions with at least P percent" },
	{ .name = "min-pct", .means = "min" },
	CLOCK_OPTION,
	HELP_OPTION,
	{ 0 },
};

static const struct legend legends[] = {
	{ "columns", columns, NULL }, { "columns with --by", top_by_columns, NULL },
	{ "columns with --by interrupt", top_interrupts_columns, NULL }, { 0 },
};

const struct command cmd_top = {
	.name = "top",
	.operands = "TRACE [FUNCTION…]",
	.summary = "which functions consume the most time?",
	.description = "Lists functions by self time: instructions and guest time spent in the function's own code, "
		       "its callees' not counted. Halted time is nobody's and is told apart.\n"
		       "Code without symbols is one row: of a program or library [busybox], of others [firmware], [decompressor],\n"
		       "[kernel] (no function's), [user] (nothing told what was mapped there).\n"
		       THUNKS_NOTE
		       INDEX_NOTE,
	.examples = "  upto top trace.upto\n      the functions that ran longest\n"
		    "  upto top --clock ns --from 1s --to 2s trace.upto\n      by guest time, in the second second\n"
		    "  upto top --total trace.upto\n      by time with callees\n"
		    "  upto top --by interrupt trace.upto\n      how often each interrupt came, and how long its handler took\n"
		    "  upto top --by process trace.upto\n      which processes ran longest\n"
		    "  upto top -o function,calls -s calls trace.upto\n      the functions entered most\n",
	.options = options,
	.legends = legends,
	.min_operands = 1, .max_operands = OPERANDS_MAX,
	.run = run,
};
