/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>

#include "analysis/functions.h"
#include "base/alloc.h"
#include "commands.h"
#include "replay/threads.h"
#include "trace_arg.h"
#include "view.h"

enum { NS, KERNEL_NS, INSNS, CPU, FUNCTION, SECTION, CALLER, OBJECT, PID, COMM };

static const struct column columns[] = {
	[NS] = { "ns", "TIME S", CELL_SECONDS, "guest time since the start, in seconds" },
	[KERNEL_NS] = { "kernel_ns", "KERNEL S", CELL_SECONDS, "the same since the kernel's first instruction; none: before that" },
	[INSNS] = { "insns", "INSNS", CELL_COUNT, "instructions that its vCPU had retired" },
	[CPU] = { "cpu", "CPU", CELL_NUMBER, "vCPU that it ran on" },
	[FUNCTION] = { "function", "FUNCTION", CELL_TEXT, "name" },
	[SECTION] = { "section", "SECTION", CELL_TEXT, "section of the kernel image" },
	[CALLER] = { "caller", "CALLER", CELL_TEXT, "the function that control came from" },
	[OBJECT] = { "object", "OBJECT", CELL_TEXT, "module, program or library", .hidden = true },
	[PID] = { "pid", "PID", CELL_NUMBER, "thread that it ran in; an interrupt's is the one that it cut into" },
	[COMM] = { "comm", "PROCESS", CELL_TEXT, "its name then" },
	{ 0 },
};

struct rows {
	const struct names *names;
	const struct threads *threads;
	const struct functions *functions;
	uint32_t *index;
	size_t count;
};

static void cell(const void *data, size_t row, unsigned column, struct cell *ret, struct buf *scratch)
{
	const struct rows *rows = data;
	uint32_t function = rows->index[row];
	const struct function_stat *s = &rows->functions->stats[function];
	const struct function_first *first = &rows->functions->firsts[function];
	const struct task_record *task = first->task ? threads_record(rows->threads, first->task, s->first_ns) : NULL;
	uint64_t kernel_ns = names_kernel_ns(rows->names, s->first_ns);

	(void)scratch;
	switch (column) {
	case NS:
		*ret = (struct cell){ .type = CELL_SECONDS, .number = s->first_ns };
		break;
	case KERNEL_NS:
		if (s->first_ns >= kernel_ns)
			*ret = (struct cell){ .type = CELL_SECONDS, .number = s->first_ns - kernel_ns };
		break;
	case INSNS:
		*ret = (struct cell){ .type = CELL_COUNT, .number = first->insns };
		break;
	case CPU:
		*ret = (struct cell){ .type = CELL_NUMBER, .number = first->cpu };
		break;
	case FUNCTION:
		*ret = (struct cell){ .type = CELL_TEXT, .text = names_function(rows->names, function) };
		break;
	case SECTION:
		*ret = (struct cell){ .type = CELL_TEXT, .text = names_section(rows->names, function) };
		break;
	case OBJECT:
		*ret = (struct cell){ .type = CELL_TEXT, .text = names_object(rows->names, function) };
		break;
	case PID:
		if (task)
			*ret = (struct cell){ .type = CELL_NUMBER, .number = (uint64_t)task->pid };
		break;
	case COMM:
		if (task)
			*ret = (struct cell){ .type = CELL_TEXT, .text = task->comm };
		break;
	case CALLER:
		*ret = (struct cell){ .type = CELL_TEXT, .text = names_function(rows->names, first->caller) };
		break;
	}
}

static const struct functions *sorting;

static int by_first(const void *va, const void *vb)
{
	uint32_t a = *(const uint32_t *)va, b = *(const uint32_t *)vb;
	uint64_t a_ns = sorting->stats[a].first_ns, b_ns = sorting->stats[b].first_ns;
	uint64_t a_insns = sorting->firsts[a].insns, b_insns = sorting->firsts[b].insns;

	if (a_ns != b_ns)
		return a_ns < b_ns ? -1 : 1;
	return a_insns < b_insns ? -1 : a_insns > b_insns;
}

static int show(const struct args *args, const struct trace_arg *t, const struct functions *f, const bool *only,
		struct error *err)
{
	struct rows rows = { .names = &t->names, .threads = &t->threads, .functions = f };
	struct view view = { .name = "first", .what = "functions", .trace = t, .columns = columns, .cell = cell, .data = &rows };
	int r;

	rows.index = xcalloc(f->count, sizeof *rows.index);
	for (size_t i = 0; i < f->count; i++)
		if (f->stats[i].first_ns != UINT64_MAX && only[i])
			rows.index[rows.count++] = (uint32_t)i;
	sorting = f;
	qsort(rows.index, rows.count, sizeof *rows.index, by_first);
	view.rows = rows.count;
	r = view_print(&view, args, err);
	free(rows.index);
	return r;
}

static int run(const struct args *args, struct error *err)
{
	struct functions f;
	struct trace_arg t;
	struct span span;
	bool *only = NULL;
	int r = EXIT_FAILED;

	if (span_arg(args, &span, err) < 0)
		return EXIT_USAGE;
	if (trace_arg_open(args, &t, err) < 0)
		return EXIT_FAILED;
	thunks_arg(args, &t);
	if (only_arg(args, &t.names, &only, err) == 0 && functions_analyse(t.reader, &t.names, &span, &f, err) == 0) {
		r = show(args, &t, &f, only, err);
		functions_deinit(&f);
	}
	free(only);
	trace_arg_close(&t);
	return r;
}

static const struct option options[] = {
	VIEW_OPTIONS,
	THUNKS_OPTION,
	SPAN_OPTIONS,
	ONLY_OPTIONS,
	HELP_OPTION,
	{ 0 },
};

static const struct legend legends[] = { { "columns", columns, NULL }, { 0 } };

const struct command cmd_first = {
	.name = "first",
	.operands = "TRACE [FUNCTION…]",
	.summary = "when was each function entered for the first time?",
	.description = "Lists every function that ran, in the order of its first entry, with where control came from and who ran.\n"
		       THUNKS_NOTE,
	.examples = "  upto first trace.upto\n      how the boot begins\n"
		    "  upto first -n 0 trace.upto | grep _init\n      when each init function ran\n"
		    "  upto first --module ext4 trace.upto\n      what the module did, from its init function on\n"
		    "  upto first --from 2s --json trace.upto\n      from the third second on, as JSON\n",
	.options = options,
	.legends = legends,
	.min_operands = 1, .max_operands = OPERANDS_MAX,
	.run = run,
};
