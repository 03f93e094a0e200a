/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sums_table.h"

#include <stdlib.h>

#include "base/alloc.h"

enum { NAME, PID, CALLS, SELF_INSNS, SELF_NS, SELF_PCT, EXE };

const struct column sums_columns[] = {
	[NAME] = { "name", "NAME", CELL_TEXT, "what the time is of; [kernel]: the kernel image itself" },
	[PID] = { "pid", "PID", CELL_NUMBER, "process or thread" },
	[CALLS] = { "calls", "CALLS", CELL_COUNT, "entries at functions' first instructions" },
	[SELF_INSNS] = { "self_insns", "SELF INSNS", CELL_AMOUNT, "instructions" },
	[SELF_NS] = { "self_ns", "SELF TIME", CELL_DURATION, "guest time" },
	[SELF_PCT] = { "self_pct", "SELF %", CELL_PERCENT, "share of all, of what --sort or --clock orders by" },
	[EXE] = { "exe", "PROGRAM", CELL_TEXT, "path of the program that it executed" },
	{ 0 },
};

struct rows {
	const struct sums *sums;
	bool by_ns;
};

const char *sums_name(unsigned by)
{
	static const char *const names[] = {
		[BY_FUNCTION] = "function", [BY_MODULE] = "module", [BY_SECTION] = "section", [BY_PROCESS] = "process",
		[BY_THREAD] = "thread", [BY_INTERRUPT] = "interrupt",
	};

	return by < sizeof names / sizeof *names ? names[by] : NULL;
}

static struct cell cell(const void *data, size_t row, unsigned column, struct buf *scratch)
{
	const struct rows *rows = data;
	const struct sums *all = rows->sums;
	const struct sum *s = &all->list[row];

	(void)scratch;
	switch (column) {
	case NAME:
		return cell_text(s->name);
	case PID:
		return s->has_pid ? cell_pid(s->pid) : cell_none();
	case CALLS:
		return s->is_task ? cell_none() : cell_count(s->calls);
	case SELF_INSNS:
		return cell_amount(s->insns);
	case SELF_NS:
		return cell_duration(s->ns);
	case SELF_PCT:
		return rows->by_ns ? cell_share(s->ns, all->ns) : cell_share(s->insns, all->insns);
	case EXE:
		return cell_text(s->exe);
	}
	return cell_none();
}

void sums_table_init(struct table *ret, const struct sums *sums, enum sums_by by, bool by_ns)
{
	struct rows *rows = xcalloc(1, sizeof *rows);

	*rows = (struct rows){ .sums = sums, .by_ns = by_ns };
	*ret = (struct table){
		.name = sums_name(by), .what = by == BY_PROCESS || by == BY_THREAD ? "threads" : "functions",
		.columns = sums_columns,
		.rows = sums->count, .cell = cell, .data = rows, .free = free,
	};
}
