/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "top_interrupts.h"

struct rows {
	const struct interrupts *interrupts;
	const struct names *names;
	const struct arch *arch;
};

enum { VECTOR, COUNT, TOTAL_INSNS, TOTAL_NS, AVERAGE, LONGEST, NAME, ACTION };

const struct column top_interrupts_columns[] = {
	[VECTOR] = { "vector", "VECTOR", CELL_NUMBER, "number of the interrupt or exception" },
	[COUNT] = { "count", "COUNT", CELL_COUNT, "how often it came" },
	[TOTAL_INSNS] = { "total_insns", "TOTAL INSNS", CELL_AMOUNT, "instructions from entry to return, with all that ran in it" },
	[TOTAL_NS] = { "total_ns", "TOTAL TIME", CELL_DURATION, "the same in guest time" },
	[AVERAGE] = { "average_ns", "AVERAGE", CELL_DURATION, "time of one that returned" },
	[LONGEST] = { "longest_ns", "LONGEST", CELL_DURATION, "the longest of them" },
	[NAME] = { "function", "FUNCTION", CELL_TEXT, "where it leads to first; of exceptions also their name" },
	[ACTION] = { "action", "ACTION", CELL_TEXT, "the driver's function that the first of them was handed to" },
	{ 0 },
};

static void put_name(const struct rows *rows, const struct interrupt_sum *s, struct cell *ret, struct buf *scratch)
{
	const char *exception = rows->arch->interrupt_name(s->vector);

	if (!exception) {
		*ret = (struct cell){ .type = CELL_TEXT, .text = names_function(rows->names, s->entry) };
		return;
	}
	scratch->len = 0;
	buf_printf(scratch, "%s (%s)", names_function(rows->names, s->entry), exception);
	buf_put_u8(scratch, 0);
	*ret = (struct cell){ .type = CELL_TEXT, .text = (char *)scratch->data };
}

static void cell(const void *data, size_t row, unsigned column, struct cell *ret, struct buf *scratch)
{
	const struct rows *rows = data;
	const struct interrupt_sum *s = &rows->interrupts->list[row];

	switch (column) {
	case VECTOR:
		*ret = (struct cell){ .type = CELL_NUMBER, .number = s->vector };
		break;
	case COUNT:
		*ret = (struct cell){ .type = CELL_COUNT, .number = s->count };
		break;
	case TOTAL_INSNS:
		*ret = (struct cell){ .type = CELL_AMOUNT, .number = s->insns };
		break;
	case TOTAL_NS:
		*ret = (struct cell){ .type = CELL_DURATION, .number = s->ns };
		break;
	case AVERAGE:
		if (s->finished)
			*ret = (struct cell){ .type = CELL_DURATION, .number = s->ns / s->finished };
		break;
	case LONGEST:
		if (s->finished)
			*ret = (struct cell){ .type = CELL_DURATION, .number = s->longest_ns };
		break;
	case NAME:
		put_name(rows, s, ret, scratch);
		break;
	case ACTION:
		if (s->action != UINT32_MAX)
			*ret = (struct cell){ .type = CELL_TEXT, .text = names_function(rows->names, s->action) };
		break;
	}
}

int top_interrupts_show(const struct args *args, const struct trace_arg *t, const struct span *span, bool by_ns, struct error *err)
{
	struct interrupts interrupts;
	struct rows rows = { .interrupts = &interrupts, .names = &t->names, .arch = t->reader->arch };
	struct view view = {
		.name = "interrupts", .columns = top_interrupts_columns, .what = "interrupts", .trace = t,
		.default_sort = by_ns ? "total_ns" : "total_insns", .cell = cell, .data = &rows,
	};
	int r = EXIT_FAILED;

	if (interrupts_analyse(&t->session, span, &interrupts, err) == 0) {
		view.rows = interrupts.count;
		r = view_print(&view, args, err);
	}
	interrupts_deinit(&interrupts);
	return r;
}
