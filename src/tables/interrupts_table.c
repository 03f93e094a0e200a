/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "interrupts_table.h"

#include <stdlib.h>

#include "base/alloc.h"

enum { VECTOR, COUNT, TOTAL_INSNS, TOTAL_NS, AVERAGE, LONGEST, NAME, ACTION };

const struct column interrupts_columns[] = {
	[VECTOR] = { "vector", "VECTOR", CELL_NUMBER, "number of the interrupt or exception" },
	[COUNT] = { "count", "COUNT", CELL_COUNT, "how often it came" },
	[TOTAL_INSNS] = { "total_insns", "TOTAL INSNS", CELL_AMOUNT,
			  "instructions from entry to return, with all that ran in it" },
	[TOTAL_NS] = { "total_ns", "TOTAL TIME", CELL_DURATION, "the same in guest time" },
	[AVERAGE] = { "average_ns", "AVERAGE", CELL_DURATION, "time of one that returned" },
	[LONGEST] = { "longest_ns", "LONGEST", CELL_DURATION, "the longest of them" },
	[NAME] = { "function", "FUNCTION", CELL_TEXT, "where it leads to first; of exceptions also their name" },
	[ACTION] = { "action", "ACTION", CELL_TEXT, "the driver's function that most of them were handed to" },
	{ 0 },
};

struct rows {
	const struct session *session;
	const struct interrupts *interrupts;
};

static struct cell name(const struct session *session, const struct interrupt_sum *s, struct buf *scratch)
{
	const char *exception = session->reader->arch->interrupt_name(s->vector),
		   *function = names_function(session->names, s->entry);

	if (!exception)
		return cell_text(function);
	buf_printf(scratch, "%s (%s)", function, exception);
	return cell_scratch(CELL_TEXT, scratch);
}

static struct cell cell(const void *data, size_t row, unsigned column, struct buf *scratch)
{
	const struct rows *rows = data;
	const struct interrupt_sum *s = &rows->interrupts->list[row];

	switch (column) {
	case VECTOR:
		return cell_number(s->vector);
	case COUNT:
		return cell_count(s->count);
	case TOTAL_INSNS:
		return cell_amount(s->insns);
	case TOTAL_NS:
		return cell_duration(s->ns);
	case AVERAGE:
		return s->finished ? cell_duration(s->ns / s->finished) : cell_none();
	case LONGEST:
		return s->finished ? cell_duration(s->longest_ns) : cell_none();
	case NAME:
		return name(rows->session, s, scratch);
	case ACTION:
		return s->action == UINT32_MAX ? cell_none()
					       : cell_text(names_function(rows->session->names, s->action));
	}
	return cell_none();
}

void interrupts_table_init(struct table *ret, const struct session *session, const struct interrupts *interrupts)
{
	struct rows *rows = xcalloc(1, sizeof *rows);

	*rows = (struct rows){ .session = session, .interrupts = interrupts };
	*ret = (struct table){
		.name = "interrupts", .what = "interrupts", .columns = interrupts_columns, .rows = interrupts->count,
		.cell = cell, .data = rows,
		.free = free,
	};
}
