/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "top_table.h"

#include <stdlib.h>

#include "base/alloc.h"

enum {
	FUNCTION,
	SECTION,
	CALLS,
	SELF_INSNS,
	SELF_NS,
	SELF_PCT,
	TOTAL_INSNS,
	TOTAL_NS,
	TOTAL_PCT,
	AVERAGE,
	LONGEST,
	ADDRESS,
	OBJECT
};

const struct column top_columns[] = {
	[FUNCTION] = { "function", "FUNCTION", CELL_TEXT, "name; in brackets alone: code without symbols" },
	[SECTION] = { "section", "SECTION", CELL_TEXT, "section of the kernel image" },
	[CALLS] = { "calls", "CALLS", CELL_COUNT, "entries at the first instruction" },
	[SELF_INSNS] = { "self_insns", "SELF INSNS", CELL_AMOUNT, "instructions of its own, callees' not counted" },
	[SELF_NS] = { "self_ns", "SELF TIME", CELL_DURATION, "guest time in it, callees' not counted" },
	[SELF_PCT] = { "self_pct", "SELF %", CELL_PERCENT, "share of all, of what --sort or --clock orders by" },
	[TOTAL_INSNS] = { "total_insns", "TOTAL INSNS", CELL_AMOUNT,
			  "with --total: instructions, callees' too; recursion counted once", .hidden = true },
	[TOTAL_NS] = { "total_ns", "TOTAL TIME", CELL_DURATION,
		       "with --total: guest time that its threads ran, callees' too", .hidden = true },
	[TOTAL_PCT] = { "total_pct", "TOTAL %", CELL_PERCENT,
			"with --total: share of all, of what --sort or --clock orders by", .hidden = true },
	[AVERAGE] = { "average_ns", "AVERAGE", CELL_DURATION,
		      "with --total: time of a call that returned, callees' too", .hidden = true },
	[LONGEST] = { "longest_ns", "LONGEST", CELL_DURATION, "with --total: of the longest call", .hidden = true },
	[ADDRESS] = { "address", "ADDRESS", CELL_ADDRESS, "where it ran: functions of the kernel image",
		      .hidden = true },
	[OBJECT] = { "object", "OBJECT", CELL_TEXT, "module, program or library", .hidden = true },
	{ 0 },
};

struct rows {
	const struct names *names;
	const struct functions *functions;
	const struct function_total *totals;
	bool by_ns;
	uint32_t index[];
};

/* What part insns or ns are of all. */
static struct cell share(const struct rows *rows, uint64_t insns, uint64_t ns)
{
	return rows->by_ns ? cell_share(ns, rows->functions->ns) : cell_share(insns, rows->functions->insns);
}

static struct cell address(const struct names *names, uint32_t function)
{
	uint64_t address;

	return names_own_address(names, function, &address) ? cell_address(address) : cell_none();
}

static struct cell total_cell(const struct rows *rows, uint32_t function, unsigned column)
{
	const struct function_total *t = &rows->totals[function];

	switch (column) {
	case TOTAL_INSNS:
		return cell_amount(t->insns);
	case TOTAL_NS:
		return cell_duration(t->ns);
	case TOTAL_PCT:
		return share(rows, t->insns, t->ns);
	}
	/* the average or the longest time of its calls, if any returned */
	if (t->finished)
		return cell_duration(column == AVERAGE ? t->finished_ns / t->finished : t->longest_ns);
	return (struct cell){ .text = rows->functions->stats[function].calls ? "unfinished" : NULL };
}

static struct cell cell(const void *data, size_t row, unsigned column, struct buf *scratch)
{
	const struct rows *rows = data;
	uint32_t function = rows->index[row];
	const struct function_stat *s = &rows->functions->stats[function];

	(void)scratch;
	switch (column) {
	case FUNCTION:
		return cell_text(names_function(rows->names, function));
	case SECTION:
		return cell_text(names_section(rows->names, function));
	case CALLS:
		return cell_count(s->calls);
	case SELF_INSNS:
		return cell_amount(s->self_insns);
	case SELF_NS:
		return cell_duration(s->self_ns);
	case SELF_PCT:
		return share(rows, s->self_insns, s->self_ns);
	case ADDRESS:
		return address(rows->names, function);
	case OBJECT:
		return cell_text(names_object(rows->names, function));
	}
	return rows->totals ? total_cell(rows, function, column) : cell_none();
}

void top_table_init(struct table *ret, const struct names *names, const struct functions *f,
		    const struct function_total *totals, const struct top_choice *choice)
{
	enum { ROUNDED_NS = 1 }; /* where filters left out all that a function did, rounding may leave a nanosecond */
	struct rows *rows = xcalloc(1, sizeof *rows + f->count * sizeof *rows->index);
	size_t count = 0;

	*rows = (struct rows){ .names = names, .functions = f, .totals = totals, .by_ns = choice->by_ns };
	for (size_t i = 0; i < f->count; i++) {
		const struct function_stat *s = &f->stats[i];

		if ((!choice->functions || choice->functions[i]) &&
		    (s->calls || s->self_insns || s->self_ns > ROUNDED_NS) &&
		    share(rows, s->self_insns, s->self_ns).percent >= choice->min_pct)
			rows->index[count++] = (uint32_t)i;
	}
	*ret = (struct table){
		.name = "functions", .what = "functions", .columns = top_columns, .rows = count, .cell = cell,
		.data = rows, .free = free,
	};
}
