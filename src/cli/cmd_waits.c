/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "analysis/history_file.h"
#include "base/alloc.h"
#include "commands.h"
#include "select_arg.h"
#include "tables/waits_table.h"
#include "terminal.h"
#include "trace_arg.h"
#include "view.h"

static bool is_asked(const struct args *args, const struct threads *threads, const struct span *span, uint64_t pid, const struct away *a)
{
	const struct thread *t = threads_at(threads, a->thread);
	const char *comm = arg(args, "comm");

	/* a CPU's idle thread waits for nothing */
	if (!t || !t->pid || a->start_ns < span->from_ns || a->start_ns >= span->to_ns)
		return false;
	if (arg(args, "pid") && (uint64_t)(int64_t)t->pid != pid && (uint64_t)(int64_t)t->tgid != pid)
		return false;
	return !comm || !strcmp(comm, threads_comm(threads, t, a->start_ns));
}

static int show(const struct args *args, const struct trace_arg *t, const struct history *h, const bool *chosen, struct error *err)
{
	struct table table;
	struct view view = { .table = &table, .trace = t };
	int r;

	if (arg(args, "summary")) {
		wait_sums_table_init(&table, &t->session, h, chosen);
		view.default_sort = "asleep_ns";
	} else {
		waits_table_init(&table, &t->session, h, chosen);
		view.default_output = arg(args, "stack") ? "start_ns,asleep_ns,ready_ns,kind,pid,comm,woken_by,stack" : NULL;
	}
	terminal_end_progress();
	r = view_print(&view, args, err);
	table_deinit(&table);
	return r;
}

static int print(const struct args *args, const struct trace_arg *t, const struct span *span, uint64_t pid, struct error *err)
{
	struct history history;
	int r = EXIT_FAILED;

	if (history_open(&t->session, is_worth_index(t), &history, err) == 0 &&
	    (history_has_wakes(&history) || trace_no_wakes(t, err) == 0)) {
		bool *chosen = xcalloc(history.n_aways, sizeof *chosen);

		for (size_t i = 0; i < history.n_aways; i++)
			chosen[i] = is_asked(args, &t->threads, span, pid, &history.aways[i]);
		r = show(args, t, &history, chosen, err);
		free(chosen);
	}
	history_deinit(&history);
	return r;
}

static int run(const struct args *args, struct error *err)
{
	struct span span = { .to_ns = UINT64_MAX, .cpu = -1 };
	struct trace_arg t;
	int r;

	if (arg_time(args, "from", &span.from_ns, err) < 0 || arg_time(args, "to", &span.to_ns, err) < 0)
		return EXIT_USAGE;
	if (span.from_ns >= span.to_ns)
		return error_set(err, "--to %s: nothing is before that, or --from is not", arg(args, "to")), EXIT_USAGE;
	if (trace_arg_open(args, &t, err) < 0)
		return EXIT_FAILED;
	r = EXIT_FAILED;
	if (select_window(args, &t.session, &span.from_ns, &span.to_ns, err) == 0) {
		names_fold_thunks(&t.names);
		r = print(args, &t, &span, t.pid, err);
	}
	trace_arg_close(&t);
	return r;
}

static const struct option options[] = {
	{ 'p', "pid", "PID", "only this thread, or the threads of this process" },
	{ 0, "comm", "NAME", "only threads of this name" },
	{ 0, "summary", NULL, "add waits up by kind and function" },
	{ 0, "stack", NULL, "with the stack that it waited in" },
	{ 0, "from", "TIME", "only waits that begin at or after this guest time: 1.5s, 20ms" },
	{ 0, "to", "TIME", "only waits that begin before this guest time" },
	VIEW_OPTIONS,
	SELECT_WINDOW,
	HELP_OPTION,
	{ 0 },
};

static const struct legend legends[] = { { "columns", waits_columns, NULL }, { "columns of --summary", wait_sums_columns, NULL }, { 0 } };

const struct command cmd_waits = {
	.name = "waits",
	.operands = "TRACE",
	.summary = "who waited, for what, how long, and who ended it?",
	.description = "Lists every time that a thread was off the CPU: how long it slept, what for, and who woke it up; then how long it was ready "
		       "while others had the CPU.\n"
		       HISTORY_NOTE,
	.examples = "  upto waits --pid 1 -s asleep_ns -n 20 trace.upto\n      what the first process waited for longest\n"
		    "  upto waits --summary trace.upto\n      what everybody waited for\n"
		    "  upto waits --comm systemd-udevd --stack --from 2s trace.upto\n      where in the kernel\n",
	.needs = "tasks",
	.options = options,
	.legends = legends,
	.min_operands = 1, .max_operands = 1,
	.run = run,
};
