/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/processes.h"
#include "base/alloc.h"
#include "commands.h"
#include "trace_arg.h"
#include "view.h"

enum { PID, TGID, PPID, COMM, START, END, SELF_INSNS, SELF_NS, SELF_PCT, EXE };

static const struct column columns[] = {
	[PID] = { "pid", "PID", "thread" },
	[TGID] = { "tgid", "TGID", "process that the thread belongs to", .hidden = true },
	[PPID] = { "ppid", "PPID", "process that is its parent" },
	[COMM] = { "comm", "COMMAND", "the thread's name, below its parent's", .left = true },
	[START] = { "start_ns", "START S", "when it first ran, or was seen first (seconds; JSON: ns)" },
	[END] = { "end_ns", "END S", "when it began to exit; none: it was there to the end (seconds; JSON: ns)" },
	[SELF_INSNS] = { "self_insns", "INSNS", "instructions that it ran, in the kernel too" },
	[SELF_NS] = { "self_ns", "CPU S", "guest time that it ran (seconds; JSON: ns)" },
	[SELF_PCT] = { "self_pct", "INSNS %", "share of all instructions" },
	[EXE] = { "exe", "PROGRAM", "path of the program that it executes", .left = true },
	{ 0 },
};

struct row {
	size_t thread;
	unsigned depth;
};

struct rows {
	const struct threads *threads;
	const struct processes *processes;
	struct row *rows;
	size_t count;
};

static const struct thread before_threads = {
	.comm = "[boot]", .exe = "", .end_ns = UINT64_MAX, .kernel = true,
};

static const struct thread *thread_of(const struct rows *rows, size_t i)
{
	return i < rows->threads->count ? &rows->threads->list[i] : &before_threads;
}

static struct cell signed_number(int32_t n)
{
	return (struct cell){ .type = CELL_NUMBER, .number = (uint64_t)(int64_t)n, .negative = n < 0 };
}

static void cell(const void *data, size_t row, unsigned column, struct cell *ret, struct buf *scratch)
{
	const struct rows *rows = data;
	const struct thread *t = thread_of(rows, rows->rows[row].thread);
	const struct spent *spent = &rows->processes->spent[rows->rows[row].thread];

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
		*ret = (struct cell){ .type = CELL_TEXT, .text = t->comm, .indent = rows->rows[row].depth * 2 };
		break;
	case START:
		*ret = (struct cell){ .type = CELL_SECONDS, .number = t->start_ns };
		break;
	case END:
		if (t->end_ns != UINT64_MAX)
			*ret = (struct cell){ .type = CELL_SECONDS, .number = t->end_ns };
		break;
	case SELF_INSNS:
		*ret = (struct cell){ .type = CELL_NUMBER, .number = spent->insns };
		break;
	case SELF_NS:
		*ret = (struct cell){ .type = CELL_SECONDS, .number = spent->ns };
		break;
	case SELF_PCT:
		*ret = (struct cell){
			.type = CELL_PERCENT,
			.percent = rows->processes->sum.insns ?
				   100.0 * (double)spent->insns / (double)rows->processes->sum.insns : 0,
		};
		break;
	case EXE:
		*ret = (struct cell){ .type = CELL_TEXT, .text = t->exe };
		break;
	}
}

/* Number of the thread that led the parent process when this thread began; THREAD_NONE: it has no parent. */
static long parent_of(const struct threads *t, const struct map *leaders, size_t i, const uint32_t *earlier)
{
	const struct thread *x = &t->list[i];
	int32_t pid = x->pid == x->tgid ? x->ppid : x->tgid;
	const uint64_t *last = pid > 0 || x->pid > 0 ? map_get(leaders, (uint64_t)(uint32_t)pid + 1) : NULL;
	long p = last ? (long)*last : THREAD_NONE;

	while (p != THREAD_NONE && (size_t)p >= i)
		p = earlier[p] == UINT32_MAX ? THREAD_NONE : (long)earlier[p];
	return p == (long)i ? THREAD_NONE : p;
}

struct family {
	uint32_t *first, *next; /* children of a thread, in the order in which they came; UINT32_MAX: none */
	uint32_t *roots;
	size_t n_roots;
};

static void find_family(const struct threads *t, struct family *f)
{
	uint32_t *earlier = xcalloc(t->count, sizeof *earlier), *last = xcalloc(t->count, sizeof *last);
	struct map leaders = { 0 };

	f->first = xcalloc(t->count, sizeof *f->first);
	f->next = xcalloc(t->count, sizeof *f->next);
	f->roots = xcalloc(t->count, sizeof *f->roots);
	for (size_t i = 0; i < t->count; i++) {
		long parent = parent_of(t, &leaders, i, earlier);

		f->first[i] = f->next[i] = last[i] = earlier[i] = UINT32_MAX;
		if (t->list[i].pid == t->list[i].tgid) {
			uint64_t *leader = map_put(&leaders, (uint64_t)(uint32_t)t->list[i].pid + 1, UINT32_MAX);

			earlier[i] = (uint32_t)*leader;
			/* each vCPU has an idle task 0; children are the first one's */
			if (t->list[i].pid || *leader == UINT32_MAX)
				*leader = i;
		}
		if (parent == THREAD_NONE) {
			f->roots[f->n_roots++] = (uint32_t)i;
			continue;
		}
		if (last[parent] == UINT32_MAX)
			f->first[parent] = (uint32_t)i;
		else
			f->next[last[parent]] = (uint32_t)i;
		last[parent] = (uint32_t)i;
	}
	map_free(&leaders);
	free(earlier);
	free(last);
}

/* Parents before children. A parent came before its children, so that there are no cycles. */
static void order_rows(struct rows *rows)
{
	const struct threads *t = rows->threads;
	uint32_t *stack = xcalloc(t->count, sizeof *stack);
	struct family f = { 0 };
	size_t depth = 0;

	find_family(t, &f);
	rows->rows = xcalloc(t->count + 1, sizeof *rows->rows);
	rows->rows[rows->count++] = (struct row){ .thread = t->count };
	for (size_t i = 0; i < f.n_roots; i++) {
		stack[depth++] = f.roots[i];
		rows->rows[rows->count++] = (struct row){ .thread = f.roots[i] };
		while (depth) {
			uint32_t child = f.first[stack[depth - 1]];

			if (child == UINT32_MAX) {
				depth--;
				continue;
			}
			f.first[stack[depth - 1]] = f.next[child];
			rows->rows[rows->count++] = (struct row){ .thread = child, .depth = (unsigned)depth };
			stack[depth++] = child;
		}
	}
	free(f.first);
	free(f.next);
	free(f.roots);
	free(stack);
}

static int show(const struct args *args, const struct trace_arg *t, const struct processes *p, struct error *err)
{
	struct rows rows = { .threads = &t->threads, .processes = p };
	struct view view = { .name = "processes", .columns = columns, .cell = cell, .data = &rows };
	char heading[160];
	int r;

	order_rows(&rows);
	view.rows = rows.count;
	snprintf(heading, sizeof heading, "# %zu threads; %" PRIu64 " instructions in %.6f s of guest time, halted %.6f s more",
		 t->threads.count, p->sum.insns, (double)p->sum.ns / 1e9, (double)p->sum.halted_ns / 1e9);
	if (!arg(args, "output"))
		view.heading = heading;
	r = view_print(&view, args, err);
	free(rows.rows);
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
	if (trace_arg_open(args->operands[0], &t, err) < 0)
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

const struct command cmd_ps = {
	.name = "ps",
	.operands = "TRACE",
	.summary = "who ran, from when to when, for how long?",
	.description = "Lists the guest's threads as a tree: processes below their parents, threads below their process; "
		       "when they came and went, and how long they ran, in user code and in the kernel.\n"
		       "Idle time that a vCPU did not sleep through is its idle task's (pid 0). What ran before the "
		       "kernel first switched tasks is [boot].\n",
	.examples = "  upto ps trace.upto\n      the tree\n"
		    "  upto ps -s self_insns -n 10 trace.upto\n      the ten that ran most\n"
		    "  upto ps --json -o pid,comm,exe trace.upto\n      for programs\n",
	.options = options,
	.min_operands = 1, .max_operands = 1,
	.run = run,
};
