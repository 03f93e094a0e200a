/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>

#include "arch/arch.h"
#include "cli/args/select_arg.h"
#include "cli/args/trace_arg.h"
#include "cli/commands.h"
#include "cli/print/left_out_note.h"
#include "cli/print/view.h"
#include "tables/processes_table.h"
#include "tables/stack_watch_table.h"

/* Is a part of what is recorded asked for? Who did not run in it has no row. */
static bool is_part(const struct args *args)
{
	static const char *const options[] = { "from", "to", "cpu", "start", "stop", "limit" };
	size_t i = 0;

	while (i < sizeof options / sizeof *options && !arg(args, options[i]))
		i++;
	return i < sizeof options / sizeof *options;
}

static int show(const struct args *args, const struct trace_arg *t, const struct processes *p, const bool *of,
		struct error *err)
{
	size_t n = processes_table_threads(&t->threads, p, is_part(args), of);
	struct view view = { .trace = t };
	struct buf heading = { 0 };
	struct table table;
	int r;

	processes_table_init(&table, &t->threads, p, is_part(args), of);
	view.table = &table;
	buf_printf(&heading, "# ");
	if (n < t->threads.count)
		buf_printf(&heading, "%zu of ", n);
	buf_printf(&heading, "%zu threads; ", t->threads.count);
	if (of)
		buf_printf(&heading, "all ran ");
	view_put_time(&heading, args, t, p->sum.insns, p->sum.ns, p->sum.halted_ns);
	buf_put_u8(&heading, 0);
	if (!arg(args, "output"))
		view.heading = (char *)heading.data;
	r = view_print(&view, args, err);
	buf_free(&heading);
	table_deinit(&table);
	return r;
}

/* KFI's watch of the stack: how much of it each thread used. */
static int show_stacks(const struct args *args, const struct trace_arg *t, const bool *of, struct error *err)
{
	struct view view = { .trace = t, .default_sort = "bytes", .left_out = "" };
	struct deepest *each;
	struct table table;
	int r = deepest_of_each(&t->session, &each, err);

	if (r == 0) {
		stack_watch_table_init(&table, &t->names, &t->threads, each, t->reader->kernel_stack, of);
		view.table = &table;
		r = view_print(&view, args, err);
		table_deinit(&table);
	} else {
		r = EXIT_FAILED;
	}
	free(each);
	return r;
}

static int run_on(const struct args *args, struct trace_arg *t, const struct span *span, struct error *err)
{
	struct selected selected;
	struct processes p;
	const bool *of;
	int r = EXIT_FAILED;

	if (select_arg(args, &t->session, &selected, err) < 0) {
		selected_deinit(&selected);
		return EXIT_FAILED;
	}
	of = selected.options.filter.threads ? selected.options.filter.threads : t->threads.chosen;
	if (arg(args, "stack-watch")) {
		names_fold_thunks(&t->names);
		r = show_stacks(args, t, of, err);
	} else if (processes_analyse(t->reader, &t->threads, span, &p, err) == 0) {
		r = show(args, t, &p, of, err);
		processes_deinit(&p);
	}
	selected_deinit(&selected);
	return r;
}

static int run(const struct args *args, struct error *err)
{
	struct trace_arg t;
	struct span span;
	int r;

	if (span_arg(args, &span, err) < 0)
		return EXIT_USAGE;
	if (arg(args, "stack-watch") && (arg(args, "from") || arg(args, "to") || arg(args, "boot") || arg(args, "cpu")))
		return error_set(err, "--stack-watch: only of the whole trace, not with --from, --to, --boot or --cpu"),
		       EXIT_USAGE;
	if (trace_arg_open(args, &t, err) < 0)
		return EXIT_FAILED;
	r = run_on(args, &t, &span, err);
	trace_arg_close(&t);
	return r;
}

static const struct option options[] = {
	VIEW_OPTIONS,
	{ 0, "stack-watch", NULL, "how much of its kernel stack each thread used at most, and where" },
	SELECT_ROWS_PID,
	SELECT_ROWS_COMM,
	SPAN_OPTIONS,
	SELECT_SPANS,
	SELECT_RING,
	HELP_OPTION,
	{ 0 },
};

static const struct legend legends[] = { { "columns", processes_columns, NULL },
					 { "columns with --stack-watch", stack_watch_columns, NULL },
					 LEFT_OUT_LEGEND,
					 { 0 } };

const struct command cmd_ps = {
	.name = "ps",
	.operands = "TRACE",
	.summary = "who ran, from when to when, for how long?",
	.description =
		"Lists the guest's threads as a tree: processes below their parents, threads below their process; "
		"when they began and ended, and how long they ran, in user code and in the kernel.\n"
		"A thread that executes another program (execve) has a row for each program, with when it began and ended. What "
		"it did before its first is a row of its own: a fork's is still its parent's program, process 1's is the kernel's "
		"[kernel_init]. With --from, --to, --cpu, --start, --stop or --limit only what ran then and there has a row.\n"
		"Idle time in which a vCPU did not sleep counts for its idle task (pid 0). [boot] is what ran before the "
		"kernel first switched tasks.\n",
	.examples = "  upto ps trace.upto\n      the tree\n"
		    "  upto ps -s self_insns -n 10 trace.upto\n      the ten that ran most\n"
		    "  upto ps --stack-watch -n 5 trace.upto\n      who needed most of a kernel stack, and for what\n"
		    "  upto ps --json -o pid,comm,exe trace.upto\n      for programs\n",
	.needs = "tasks",
	.options = options,
	.legends = legends,
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
