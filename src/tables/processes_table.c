/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "processes_table.h"

#include <stdlib.h>

#include "analysis/processes/process_tree.h"
#include "base/alloc.h"

enum { PID, TGID, PPID, COMM, START, END, SELF_INSNS, SELF_NS, SELF_PCT, EXE };

const struct column processes_columns[] = {
	[PID] = { "pid", "PID", CELL_NUMBER, "thread" },
	[TGID] = { "tgid", "TGID", CELL_NUMBER, "process that the thread belongs to", .hidden = true },
	[PPID] = { "ppid", "PPID", CELL_NUMBER, "process that is its parent" },
	[COMM] = { "comm", "COMMAND", CELL_TEXT,
		   "the thread's name, the last that it had with this program; below its parent's" },
	[START] = { "start_ns", "START S", CELL_SECONDS,
		    "when it first ran, was seen first, or executed this program, in seconds" },
	[END] = { "end_ns", "END S", CELL_SECONDS,
		  "when it began to exit, or executed another program; none: it was there to the end" },
	[SELF_INSNS] = { "self_insns", "INSNS", CELL_AMOUNT, "instructions that it ran, in the kernel too" },
	[SELF_NS] = { "self_ns", "CPU TIME", CELL_DURATION, "guest time that it ran" },
	[SELF_PCT] = { "self_pct", "INSNS %", CELL_PERCENT, "share of all instructions" },
	[EXE] = { "exe", "PROGRAM", CELL_TEXT, "path of the program that it executes" },
	{ 0 },
};

struct rows {
	const struct threads *threads;
	const struct processes *processes;
	struct process_row *list;
};

/* What ran before there were threads, as a program. */
static const struct program before_threads = { .comm = "[boot]", .exe = "", .end_ns = UINT64_MAX };
static const struct thread no_thread = { 0 };

static struct cell cell(const void *data, size_t row, unsigned column, struct buf *scratch)
{
	const struct rows *rows = data;
	size_t number = rows->list[row].program;
	const struct program *p =
		number < rows->threads->n_programs ? &rows->threads->programs[number] : &before_threads;
	const struct thread *t = p == &before_threads ? &no_thread : &rows->threads->list[p->thread];
	const struct spent *spent = &rows->processes->spent[number];

	(void)scratch;
	switch (column) {
	case PID:
		return cell_pid(t->pid);
	case TGID:
		return cell_pid(t->tgid);
	case PPID:
		return cell_pid(t->ppid);
	case COMM:
		return (struct cell){ .type = CELL_TEXT, .text = p->comm, .indent = rows->list[row].depth * 2 };
	case START:
		return cell_seconds(p->start_ns);
	case END:
		return p->end_ns == UINT64_MAX ? cell_none() : cell_seconds(p->end_ns);
	case SELF_INSNS:
		return cell_amount(spent->insns);
	case SELF_NS:
		return cell_duration(spent->ns);
	case SELF_PCT:
		return cell_share(spent->insns, rows->processes->sum.insns);
	case EXE:
		return cell_text(p->exe);
	}
	return cell_none();
}

static bool *that_are_shown(const struct threads *threads, const struct processes *p, bool only_ran, const bool *of)
{
	bool *shown = xcalloc(p->count, sizeof *shown);

	for (size_t i = 0; i < p->count; i++)
		shown[i] = (!only_ran || p->spent[i].insns || p->spent[i].ns) &&
			   (!of || (i < threads->n_programs && of[threads->programs[i].thread]));
	return shown;
}

size_t processes_table_threads(const struct threads *threads, const struct processes *p, bool only_ran, const bool *of)
{
	bool *shown = that_are_shown(threads, p, only_ran, of);
	size_t n = 0;

	for (size_t i = 0; i < threads->count; i++) {
		const struct thread *t = &threads->list[i];
		uint32_t k = t->first_program;

		while (k < t->first_program + t->n_programs && !shown[k])
			k++;
		n += k < t->first_program + t->n_programs;
	}
	free(shown);
	return n;
}

static void rows_free(void *data)
{
	struct rows *rows = data;

	free(rows->list);
	free(rows);
}

void processes_table_init(struct table *ret, const struct threads *threads, const struct processes *p, bool only_ran,
			  const bool *of)
{
	struct rows *rows = xcalloc(1, sizeof *rows);
	bool *shown = that_are_shown(threads, p, only_ran, of);

	*rows = (struct rows){ .threads = threads, .processes = p };
	*ret = (struct table){
		.name = "processes", .what = "threads", .columns = processes_columns, .cell = cell, .data = rows,
		.free = rows_free,
	};
	rows->list = process_tree(threads, shown, &ret->rows);
	free(shown);
}
