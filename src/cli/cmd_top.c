/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/totals.h"
#include "base/alloc.h"
#include "commands.h"
#include "top_by.h"
#include "trace_arg.h"
#include "view.h"

enum { FUNCTION, SECTION, CALLS, SELF_INSNS, SELF_NS, SELF_PCT, TOTAL_INSNS, TOTAL_NS, TOTAL_PCT, AVERAGE, LONGEST, ADDRESS, OBJECT };

static const struct column columns[] = {
	[FUNCTION] = { "function", "FUNCTION", "name; in brackets alone: code without symbols", .left = true },
	[SECTION] = { "section", "SECTION", "section of the kernel image", .left = true },
	[CALLS] = { "calls", "CALLS", "entries at the first instruction" },
	[SELF_INSNS] = { "self_insns", "SELF INSNS", "instructions of its own, callees' not counted" },
	[SELF_NS] = { "self_ns", "SELF S", "guest time in it, callees' not counted (seconds; JSON: ns)" },
	[SELF_PCT] = { "self_pct", "SELF %", "share of all, by the clock that --clock names" },
	[TOTAL_INSNS] = { "total_insns", "TOTAL INSNS", "with --total: instructions, callees' too; recursion counted once",
			  .hidden = true },
	[TOTAL_NS] = { "total_ns", "TOTAL S", "with --total: guest time that its threads ran, callees' too (seconds; JSON: ns)",
		       .hidden = true },
	[TOTAL_PCT] = { "total_pct", "TOTAL %", "with --total: share of all, by the clock that --clock names", .hidden = true },
	[AVERAGE] = { "average_ns", "AVERAGE S", "with --total: time of a call, callees' too (seconds; JSON: ns)", .hidden = true },
	[LONGEST] = { "longest_ns", "LONGEST S", "with --total: of the longest call (seconds; JSON: ns)", .hidden = true },
	[ADDRESS] = { "address", "ADDRESS", "where it ran: functions of the kernel image", .left = true, .hidden = true },
	[OBJECT] = { "object", "OBJECT", "module, program or library", .left = true, .hidden = true },
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

static uint64_t average(const struct function_total *t)
{
	return t->finished ? t->finished_ns / t->finished : 0;
}

static void cell(const void *data, size_t row, unsigned column, struct cell *ret, struct buf *scratch)
{
	const struct rows *rows = data;
	uint32_t function = rows->index[row];
	const struct function_stat *s = &rows->functions->stats[function];

	if (!rows->totals && column >= TOTAL_INSNS && column <= LONGEST)
		return;
	switch (column) {
	case TOTAL_INSNS:
		*ret = (struct cell){ .type = CELL_NUMBER, .number = rows->totals[function].insns };
		break;
	case TOTAL_NS:
		*ret = (struct cell){ .type = CELL_SECONDS, .number = rows->totals[function].ns };
		break;
	case TOTAL_PCT:
		*ret = (struct cell){ .type = CELL_PERCENT, .percent = total_share(rows, function) };
		break;
	case AVERAGE:
		*ret = (struct cell){ .type = CELL_SECONDS, .number = average(&rows->totals[function]) };
		break;
	case LONGEST:
		*ret = (struct cell){ .type = CELL_SECONDS, .number = rows->totals[function].longest_ns };
		break;
	case ADDRESS:
		if (function < rows->names->tab.count) {
			buf_printf(scratch, "0x%llx", (unsigned long long)(rows->names->tab.symbols[function].addr +
									   rows->names->slide));
			*ret = (struct cell){ .type = CELL_TEXT, .text = (char *)scratch->data };
		}
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
		*ret = (struct cell){ .type = CELL_NUMBER, .number = s->calls };
		break;
	case SELF_INSNS:
		*ret = (struct cell){ .type = CELL_NUMBER, .number = s->self_insns };
		break;
	case SELF_NS:
		*ret = (struct cell){ .type = CELL_SECONDS, .number = s->self_ns };
		break;
	case SELF_PCT:
		*ret = (struct cell){ .type = CELL_PERCENT, .percent = share(rows, s) };
		break;
	}
}

static void choose_rows(struct rows *rows, const struct only *only, double min_pct)
{
	const struct functions *f = rows->functions;

	rows->index = xcalloc(f->count, sizeof *rows->index);
	for (size_t i = 0; i < f->count; i++)
		if (only_has(only, rows->names, (uint32_t)i) && (f->stats[i].calls || f->stats[i].self_insns || f->stats[i].self_ns) &&
		    share(rows, &f->stats[i]) >= min_pct)
			rows->index[rows->count++] = (uint32_t)i;
}

static int show(const struct args *args, const struct trace_arg *t, const struct functions *f,
		const struct function_total *totals, const struct only *only, bool by_ns, double min_pct, struct error *err)
{
	char heading[160];
	struct column shown[sizeof columns / sizeof *columns];
	struct rows rows = { .names = &t->names, .functions = f, .totals = totals, .by_ns = by_ns };
	struct view view = {
		.name = "functions", .columns = shown,
		.default_sort = totals ? (rows.by_ns ? "total_ns" : "total_insns") : rows.by_ns ? "self_ns" : "self_insns",
		.cell = cell, .data = &rows,
	};
	int r;

	memcpy(shown, columns, sizeof columns);
	shown[TOTAL_INSNS].hidden = shown[TOTAL_NS].hidden = shown[TOTAL_PCT].hidden = !totals;
	shown[AVERAGE].hidden = shown[LONGEST].hidden = !totals;
	shown[SELF_NS].hidden = totals && !rows.by_ns;
	shown[TOTAL_NS].hidden |= !rows.by_ns;
	choose_rows(&rows, only, min_pct);
	view.rows = rows.count;
	snprintf(heading, sizeof heading, "# %llu instructions in %.6f s of guest time, halted %.6f s more; self %% of %s",
		 (unsigned long long)f->insns, (double)f->ns / 1e9, (double)f->halted_ns / 1e9,
		 rows.by_ns ? "time" : "instructions");
	if (!arg(args, "output"))
		view.heading = heading;
	r = view_print(&view, args, err);
	free(rows.index);
	return r;
}

static int analyse(const struct trace_arg *t, const struct span *span, bool total, struct functions *ret,
		   struct function_total **ret_totals, struct error *err)
{
	struct index *index;
	int r;

	if (!total)
		return functions_analyse(t->reader, &t->names, span, ret, err);
	index = index_open(t->reader, &t->names);
	r = totals_analyse(t->reader, &t->names, &t->threads, index, is_worth_index(t), ret, ret_totals, err);
	index_free(index);
	return r;
}

static int run(const struct args *args, struct error *err)
{
	struct functions f;
	struct trace_arg t;
	struct span span;
	struct function_total *totals = NULL;
	struct only only;
	double min_pct = 0;
	enum top_by by;
	bool by_ns;
	int r = EXIT_FAILED;

	if (arg(args, "total") && (arg(args, "from") || arg(args, "to") || arg(args, "cpu"))) {
		error_set(err, "--total: only of the whole trace, not with --from, --to or --cpu");
		return EXIT_USAGE;
	}
	if (clock_arg(args, &by_ns, err) < 0 || span_arg(args, &span, err) < 0 || arg_percent(args, "min-pct", &min_pct, err) < 0)
		return EXIT_USAGE;
	if (top_by_arg(args, &by, err) < 0)
		return EXIT_USAGE;
	if (by != BY_FUNCTION && (arg(args, "total") || arg(args, "min-pct") || arg(args, "kernel") || arg(args, "user") || arg(args, "module"))) {
		error_set(err, "--by %s: not with --total, --min-pct, --kernel, --user or --module", arg(args, "by"));
		return EXIT_USAGE;
	}
	if (trace_arg_open(args->operands[0], &t, err) < 0)
		return EXIT_FAILED;
	if (by != BY_FUNCTION) {
		r = top_by_show(args, &t, &span, by, by_ns, err);
		trace_arg_close(&t);
		return r;
	}
	if (only_arg(args, &t.names, &only, err) == 0 && analyse(&t, &span, arg(args, "total"), &f, &totals, err) == 0) {
		r = show(args, &t, &f, totals, &only, by_ns, min_pct, err);
		functions_deinit(&f);
	}
	free(totals);
	trace_arg_close(&t);
	return r;
}

static const struct option options[] = {
	VIEW_OPTIONS,
	SPAN_OPTIONS,
	ONLY_OPTIONS,
	{ 0, "by", "WHAT", "sum by function (default), module (programs and libraries too), section, process or thread" },
	{ 0, "total", NULL, "also time with callees, in all, on average and at most, and order by it; takes longer" },
	{ 0, "min-pct", "P", "only functions with at least P percent" },
	CLOCK_OPTION,
	HELP_OPTION,
	{ 0 },
};

const struct command cmd_top = {
	.name = "top",
	.operands = "TRACE",
	.summary = "which functions consume the most time?",
	.description = "Lists functions by self time: instructions and guest time spent in the function's own code, "
		       "its callees' not counted. Halted time is nobody's and is told apart.\n"
		       "Code without symbols is one row: of a program or library [busybox], of others [firmware], [decompressor],\n"
		       "[kernel] (no function's), [user] (nothing told what was mapped there).\n"
		       INDEX_NOTE,
	.examples = "  upto top trace.upto\n      the functions that ran longest\n"
		    "  upto top --clock ns --from 1s --to 2s trace.upto\n      by guest time, in the second second\n"
		    "  upto top --total trace.upto\n      by time with callees\n"
		    "  upto top --by process trace.upto\n      which processes ran longest\n"
		    "  upto top -o function,calls -s calls trace.upto\n      the functions entered most\n",
	.options = options,
	.min_operands = 1, .max_operands = 1,
	.run = run,
};
