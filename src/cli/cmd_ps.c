/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/process_tree.h"
#include "analysis/processes.h"
#include "base/alloc.h"
#include "commands.h"
#include "trace_arg.h"
#include "view.h"

enum { PID, TGID, PPID, COMM, START, END, SELF_INSNS, SELF_NS, SELF_PCT, EXE };

static const struct column columns[] = {
	[PID] = { "pid", "PID", CELL_NUMBER, "thread" },
	[TGID] = { "tgid", "TGID", CELL_NUMBER, "process that the thread belongs to", .hidden = true },
	[PPID] = { "ppid", "PPID", CELL_NUMBER, "process that is its parent" },
	[COMM] = { "comm", "COMMAND", CELL_TEXT, "the thread's name, the last that it had with this program; below its parent's" },
	[START] = { "start_ns", "START S", CELL_SECONDS, "when it first ran, was seen first, or executed this program, in seconds" },
	[END] = { "end_ns", "END S", CELL_SECONDS, "when it began to exit, or executed another program; none: it was there to the end" },
	[SELF_INSNS] = { "self_insns", "INSNS", CELL_AMOUNT, "instructions that it ran, in the kernel too" },
	[SELF_NS] = { "self_ns", "CPU TIME", CELL_DURATION, "guest time that it ran" },
	[SELF_PCT] = { "self_pct", "INSNS %", CELL_PERCENT, "share of all instructions" },
	[EXE] = { "exe", "PROGRAM", CELL_TEXT, "path of the program that it executes" },
	{ 0 },
};

struct rows {
	const struct threads *threads;
	const struct processes *processes;
	struct process_row *rows;
	size_t count;
};

/* What ran before there were threads, as a program. */
static const struct program before_threads = { .comm = "[boot]", .exe = "", .end_ns = UINT64_MAX };
static const struct thread no_thread = { 0 };

static struct cell signed_number(int32_t n)
{
	return (struct cell){ .type = CELL_NUMBER, .number = (uint64_t)(int64_t)n, .negative = n < 0 };
}

static void cell(const void *data, size_t row, unsigned column, struct cell *ret, struct buf *scratch)
{
	const struct rows *rows = data;
	size_t number = rows->rows[row].program;
	const struct program *p = number < rows->threads->n_programs ? &rows->threads->programs[number] : &before_threads;
	const struct thread *t = p == &before_threads ? &no_thread : &rows->threads->list[p->thread];
	const struct spent *spent = &rows->processes->spent[number];

	(void)scratch;
	switch (column) {
	case PID:
		*ret = signed_number(t->pid);
		break;
	case TGID:
		*ret = signed_number(t->tgid);
		break;
	case PPID:
		*ret = signed_number(t->ppid);
		break;
	case COMM:
		*ret = (struct cell){ .type = CELL_TEXT, .text = p->comm, .indent = rows->rows[row].depth * 2 };
		break;
	case START:
		*ret = (struct cell){ .type = CELL_SECONDS, .number = p->start_ns };
		break;
	case END:
		if (p->end_ns != UINT64_MAX)
			*ret = (struct cell){ .type = CELL_SECONDS, .number = p->end_ns };
		break;
	case SELF_INSNS:
		*ret = (struct cell){ .type = CELL_AMOUNT, .number = spent->insns };
		break;
	case SELF_NS:
		*ret = (struct cell){ .type = CELL_DURATION, .number = spent->ns };
		break;
	case SELF_PCT:
		*ret = (struct cell){
			.type = CELL_PERCENT,
			.percent = rows->processes->sum.insns ?
				   100.0 * (double)spent->insns / (double)rows->processes->sum.insns : 0,
		};
		break;
	case EXE:
		*ret = (struct cell){ .type = CELL_TEXT, .text = p->exe };
		break;
	}
}

/* Programs that ran in the span. */
static bool *that_ran(const struct processes *p)
{
	bool *ran = xcalloc(p->count, sizeof *ran);

	for (size_t i = 0; i < p->count; i++)
		ran[i] = p->spent[i].insns || p->spent[i].ns;
	return ran;
}

static int show(const struct args *args, const struct trace_arg *t, const struct processes *p, struct error *err)
{
	struct rows rows = { .threads = &t->threads, .processes = p };
	struct view view = { .name = "processes", .what = "threads", .trace = t, .columns = columns, .cell = cell, .data = &rows };
	bool part = arg(args, "from") || arg(args, "to") || arg(args, "cpu");
	bool *ran = part ? that_ran(p) : NULL;
	struct buf heading = { 0 };
	int r;

	rows.rows = process_tree(&t->threads, ran, &rows.count);
	view.rows = rows.count;
	buf_printf(&heading, "# %zu threads; ", t->threads.count);
	view_put_time(&heading, args, p->sum.insns, p->sum.ns, p->sum.halted_ns);
	buf_put_u8(&heading, 0);
	if (!arg(args, "output"))
		view.heading = (char *)heading.data;
	r = view_print(&view, args, err);
	buf_free(&heading);
	free(rows.rows);
	free(ran);
	return r;
}

static int run(const struct args *args, struct error *err)
{
	struct processes p;
	struct trace_arg t;
	struct span span;
	int r = EXIT_FAILED;

	if (span_arg(args, &span, err) < 0)
		return EXIT_USAGE;
	if (trace_arg_open(args, &t, err) < 0)
		return EXIT_FAILED;
	if (processes_analyse(t.reader, &t.threads, &span, &p, err) == 0) {
		r = show(args, &t, &p, err);
		processes_deinit(&p);
	}
	trace_arg_close(&t);
	return r;
}

static const struct option options[] = {
	VIEW_OPTIONS,
	SPAN_OPTIONS,
	HELP_OPTION,
	{ 0 },
};

static const struct legend legends[] = { { "columns", columns, NULL }, { 0 } };

const struct command cmd_ps = {
	.name = "ps",
	.operands = "TRACE",
	.summary = "who ran, from when to when, for how long?",
	.description = "Lists the guest's threads as a tree: processes below their parents, threads below their process; "
		       "when they began and ended, and how long they ran, in user code and in the kernel.\n"
		       "A thread that executes another program (execve) has a row for each program, with when it began and ended. What "
		       "it did before its first is a row of its own: a fork's is still its parent's program, process 1's is the kernel's "
		       "[kernel_init]. With --from, --to or --cpu only what ran then and there has a row.\n"
		       "Idle time in which a vCPU did not sleep counts for its idle task (pid 0). [boot] is what ran before the "
		       "kernel first switched tasks.\n",
	.examples = "  upto ps trace.upto\n      the tree\n"
		    "  upto ps -s self_insns -n 10 trace.upto\n      the ten that ran most\n"
		    "  upto ps --json -o pid,comm,exe trace.upto\n      for programs\n",
	.options = options,
	.legends = legends,
	.min_operands = 1, .max_operands = 1,
	.run = run,
};
