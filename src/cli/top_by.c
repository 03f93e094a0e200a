/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "top_by.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const words[] = {
	[BY_FUNCTION] = "function", [BY_MODULE] = "module", [BY_SECTION] = "section", [BY_PROCESS] = "process", [BY_THREAD] = "thread",
	[BY_INTERRUPT] = "interrupt",
};

int top_by_arg(const struct args *args, enum sums_by *ret, struct error *err)
{
	const char *by = arg(args, "by");

	*ret = BY_FUNCTION;
	for (size_t i = 0; by && i < sizeof words / sizeof *words; i++)
		if (!strcmp(by, words[i])) {
			*ret = (enum sums_by)i;
			return 0;
		}
	return by ? error_set(err, "--by %s: function, module, section, process, thread or interrupt", by) : 0;
}

struct rows {
	const struct sums *sums;
	bool by_ns;
};

enum { NAME, PID, CALLS, SELF_INSNS, SELF_NS, SELF_PCT, EXE };

const struct column top_by_columns[] = {
	[NAME] = { "name", "NAME", CELL_TEXT, "what the time is of; [kernel]: the kernel image itself" },
	[PID] = { "pid", "PID", CELL_NUMBER, "process or thread" },
	[CALLS] = { "calls", "CALLS", CELL_COUNT, "entries at functions' first instructions" },
	[SELF_INSNS] = { "self_insns", "SELF INSNS", CELL_AMOUNT, "instructions" },
	[SELF_NS] = { "self_ns", "SELF TIME", CELL_DURATION, "guest time" },
	[SELF_PCT] = { "self_pct", "SELF %", CELL_PERCENT, "share of all, of what --sort or --clock orders by" },
	[EXE] = { "exe", "PROGRAM", CELL_TEXT, "path of the program that it executed" },
	{ 0 },
};

static void cell(const void *data, size_t row, unsigned column, struct cell *ret, struct buf *scratch)
{
	const struct rows *rows = data;
	const struct sum *s = &rows->sums->list[row];
	uint64_t whole = rows->by_ns ? rows->sums->ns : rows->sums->insns, part = rows->by_ns ? s->ns : s->insns;

	(void)scratch;
	switch (column) {
	case NAME:
		*ret = (struct cell){ .type = CELL_TEXT, .text = s->name };
		break;
	case PID:
		if (s->has_pid)
			*ret = (struct cell){ .type = CELL_NUMBER, .number = (uint64_t)s->pid };
		break;
	case CALLS:
		if (!s->is_task)
			*ret = (struct cell){ .type = CELL_COUNT, .number = s->calls };
		break;
	case SELF_INSNS:
		*ret = (struct cell){ .type = CELL_AMOUNT, .number = s->insns };
		break;
	case SELF_NS:
		*ret = (struct cell){ .type = CELL_DURATION, .number = s->ns };
		break;
	case SELF_PCT:
		*ret = (struct cell){ .type = CELL_PERCENT, .percent = whole ? 100.0 * (double)part / (double)whole : 0 };
		break;
	case EXE:
		*ret = (struct cell){ .type = CELL_TEXT, .text = s->exe };
		break;
	}
}

int top_by_show(const struct args *args, const struct trace_arg *t, const struct span *span, enum sums_by by, bool by_ns,
		struct error *err)
{
	/* of functions, of tasks; by instructions, by time: shares stand beside what they are shares of */
	static const char *const outputs[][2] = {
		{ "name,calls,self_insns,self_pct,self_ns", "name,calls,self_insns,self_ns,self_pct" },
		{ "name,pid,self_insns,self_pct,self_ns,exe", "name,pid,self_insns,self_ns,self_pct,exe" },
	};
	bool tasks = by == BY_PROCESS || by == BY_THREAD;
	struct sums sums;
	struct rows rows = { .sums = &sums, .by_ns = by_ns };
	struct view view = {
		.name = words[by], .columns = top_by_columns, .what = tasks ? "threads" : "functions", .trace = t, .default_output = outputs[tasks][by_ns],
		.default_sort = by_ns ? "self_ns" : "self_insns", .cell = cell, .data = &rows,
	};
	struct buf heading = { 0 };
	int r = EXIT_FAILED;

	if (sums_analyse(&t->session, span, by, &sums, err) == 0) {
		buf_printf(&heading, "# ");
		view_put_time(&heading, args, sums.insns, sums.ns, sums.halted_ns);
		buf_printf(&heading, "; self %% of %s", by_ns ? "time" : "instructions");
		buf_put_u8(&heading, 0);
		view.rows = sums.count;
		view.heading = arg(args, "output") ? NULL : (char *)heading.data;
		r = view_print(&view, args, err);
	}
	buf_free(&heading);
	sums_deinit(&sums);
	return r;
}
