/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/syscalls.h"
#include "arch/x86_syscalls.h"
#include "commands.h"
#include "trace_arg.h"
#include "view.h"

enum { NS, INSNS, CPU, TASK, NR, NAME, ARGS, RESULT, DURATION };

static const struct column columns[] = {
	[NS] = { "ns", "TIME S", "guest time at entry (seconds; JSON: ns)" },
	[INSNS] = { "insns", "INSNS", "instructions that the vCPU had retired", .hidden = true },
	[CPU] = { "cpu", "CPU", "vCPU at entry" },
	[TASK] = { "task", "TASK", "address of the caller's task_struct", .left = true, .hidden = true },
	[NR] = { "nr", "NR", "number" },
	[NAME] = { "name", "NAME", "name", .left = true },
	[ARGS] = { "args", "ARGS", "six raw arguments", .left = true, .list = true },
	[RESULT] = { "result", "RESULT", "what it returned; empty: it did not" },
	[DURATION] = { "duration_ns", "DURATION S", "from entry to return (seconds; JSON: ns)" },
	{ 0 },
};

static struct cell name_cell(uint64_t nr, struct buf *scratch)
{
	const char *name = x86_syscall_name(nr);

	if (!name) {
		buf_printf(scratch, "syscall_%" PRIu64, nr);
		name = (char *)scratch->data;
	}
	return (struct cell){ .type = CELL_TEXT, .text = name };
}

static struct cell args_cell(const struct syscall_record *c, struct buf *scratch)
{
	for (int i = 0; i < 6; i++)
		buf_printf(scratch, "%s%" PRIu64, i ? "\n" : "", c->args[i]);
	return (struct cell){ .type = CELL_LIST, .text = (char *)scratch->data };
}

static void cell(const void *data, size_t row, unsigned column, struct cell *ret, struct buf *scratch)
{
	const struct syscall_record *c = &((const struct syscalls *)data)->calls[row];

	switch (column) {
	case NS:
		*ret = (struct cell){ .type = CELL_SECONDS, .number = c->ns };
		break;
	case INSNS:
		*ret = (struct cell){ .type = CELL_NUMBER, .number = c->insns };
		break;
	case CPU:
		*ret = (struct cell){ .type = CELL_NUMBER, .number = c->cpu };
		break;
	case TASK:
		buf_printf(scratch, "0x%" PRIx64, c->task);
		*ret = (struct cell){ .type = CELL_TEXT, .text = (char *)scratch->data };
		break;
	case NR:
		*ret = (struct cell){ .type = CELL_NUMBER, .number = c->nr };
		break;
	case NAME:
		*ret = name_cell(c->nr, scratch);
		break;
	case ARGS:
		*ret = args_cell(c, scratch);
		break;
	case RESULT:
		if (c->has_result)
			*ret = (struct cell){ .type = CELL_NUMBER, .number = (uint64_t)c->result, .negative = c->result < 0 };
		break;
	case DURATION:
		if (c->returned)
			*ret = (struct cell){ .type = CELL_SECONDS, .number = c->end_ns - c->ns };
		break;
	}
}

enum { SUM_NAME, SUM_NR, SUM_COUNT, SUM_ERRORS, SUM_TOTAL, SUM_AVERAGE, SUM_LONGEST };

static const struct column sum_columns[] = {
	[SUM_NAME] = { "name", "NAME", "name", .left = true },
	[SUM_NR] = { "nr", "NR", "number", .hidden = true },
	[SUM_COUNT] = { "count", "COUNT", "calls" },
	[SUM_ERRORS] = { "errors", "ERRORS", "calls that returned an error" },
	[SUM_TOTAL] = { "total_ns", "TOTAL S", "time in all calls that returned (seconds; JSON: ns)" },
	[SUM_AVERAGE] = { "average_ns", "AVERAGE S", "per call that returned" },
	[SUM_LONGEST] = { "longest_ns", "LONGEST S", "the longest of them" },
	{ 0 },
};

static void sum_cell(const void *data, size_t row, unsigned column, struct cell *ret, struct buf *scratch)
{
	const struct syscall_sum *s = &((const struct syscall_sum *)data)[row];

	*ret = (struct cell){ .type = column >= SUM_TOTAL ? CELL_SECONDS : CELL_NUMBER };
	switch (column) {
	case SUM_NAME:
		*ret = name_cell(s->nr, scratch);
		break;
	case SUM_NR:
		ret->number = s->nr;
		break;
	case SUM_COUNT:
		ret->number = s->count;
		break;
	case SUM_ERRORS:
		ret->number = s->errors;
		break;
	case SUM_TOTAL:
		ret->number = s->total_ns;
		break;
	case SUM_AVERAGE:
		ret->number = s->returned ? s->total_ns / s->returned : 0;
		break;
	case SUM_LONGEST:
		ret->number = s->longest_ns;
		break;
	}
}

static int show_sums(const struct args *args, const struct syscalls *s, struct error *err)
{
	struct syscall_sum *sums;
	struct view view = { .name = "syscalls", .columns = sum_columns, .default_sort = "total_ns", .cell = sum_cell };
	int r;

	view.rows = syscalls_sum(s, &sums);
	view.data = sums;
	r = view_print(&view, args, err);
	free(sums);
	return r;
}

static int run(const struct args *args, struct error *err)
{
	struct syscalls s;
	struct trace_arg t;
	struct span span;
	int r = EXIT_FAILED;

	if (span_arg(args, &span, err) < 0)
		return EXIT_USAGE;
	if (trace_arg_open(args->operands[0], &t, err) < 0)
		return EXIT_FAILED;
	if (syscalls_analyse(t.reader, &span, &s, err) == 0) {
		struct view view = { .name = "syscalls", .columns = columns, .rows = s.count, .cell = cell, .data = &s };

		r = arg(args, "summary") ? show_sums(args, &s, err) : view_print(&view, args, err);
		syscalls_deinit(&s);
	}
	trace_arg_close(&t);
	return r;
}

static const struct option options[] = {
	{ 0, "summary", NULL, "one line per call name: count, errors, total, average, longest" },
	VIEW_OPTIONS,
	SPAN_OPTIONS,
	HELP_OPTION,
	{ 0 },
};

const struct command cmd_syscalls = {
	.name = "syscalls",
	.operands = "TRACE",
	.summary = "when does userspace make system calls?",
	.description = "Lists the system calls of all processes in the order of their entry, with raw arguments, result "
		       "and duration. A call that never returned (exit, execve of another image's last moment, a call under way at the end) has no "
		       "result.\n",
	.examples = "  upto syscalls trace.upto\n      the first screenful\n"
		    "  upto syscalls --summary trace.upto\n      which calls took the most time\n"
		    "  upto syscalls -s duration_ns trace.upto\n      the longest ones\n",
	.options = options,
	.min_operands = 1, .max_operands = 1,
	.run = run,
};
