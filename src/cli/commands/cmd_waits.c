/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "analysis/history/history_choose.h"
#include "analysis/history/history_file.h"
#include "base/alloc.h"
#include "cli/args/select_arg.h"
#include "cli/args/trace_arg.h"
#include "cli/args/trace_has.h"
#include "cli/commands.h"
#include "cli/print/left_out_note.h"
#include "cli/print/quantity.h"
#include "cli/print/see.h"
#include "cli/print/terminal.h"
#include "cli/print/view.h"
#include "tables/waits_table.h"

/* What is asked for. */
struct choice {
	struct span span;              /* that they begin in … */
	struct intervals intervals;        /* … and in one of these */
	const bool *processes;         /* of --pid: marks by number of thread; NULL: all */
	const struct thin_filter *filter;
};

static bool is_asked(const struct choice *choice, const struct threads *threads, const struct history *h,
		     const struct away *a)
{
	const struct thread *t = threads_at(threads, a->thread);

	/* a CPU's idle thread waits for nothing */
	if (!t || !t->pid || away_is_end(a))
		return false;
	if (a->start_ns < choice->span.from_ns || a->start_ns >= choice->span.to_ns ||
	    !intervals_have(&choice->intervals, a->start_ns))
		return false;
	if (choice->processes && !choice->processes[a->thread])
		return false;
	return history_chooses_wait(h, choice->filter, a);
}

/* The kernel's own threads wait for work, or look at something now and then. */
static bool is_idle(const struct threads *threads, const struct away *a)
{
	const struct thread *thread = threads_at(threads, a->thread);

	if (a->function == HISTORY_NONE) /* it began before what is recorded */
		return true;
	return a->kind == WAIT_IDLE || (a->kind == WAIT_TIMER && thread && thread->kernel);
}

/* Of those that wait for something that somebody does, the longest asleep; NULL: there is none. */
static const struct away *longest(const struct threads *threads, const struct history *h, const bool *chosen)
{
	const struct away *ret = NULL;
	uint64_t most = 0;

	for (size_t i = 0; i < h->n_aways; i++) {
		const struct away *a = &h->aways[i];

		uint64_t asleep = away_asleep_until(a, h->end_ns) - a->start_ns;

		if (chosen[i] && !is_idle(threads, a) && a->wake_ns > a->start_ns && (!ret || asleep > most)) {
			ret = a;
			most = asleep;
		}
	}
	return ret;
}

/* The longest, and the command that looks into it: in the middle of what of it is recorded. */
static void put_heading(struct buf *out, const struct trace_arg *t, const struct history *h, const bool *chosen)
{
	const struct away *a = longest(&t->threads, h, chosen);
	const struct thread *thread = a ? threads_at(&t->threads, a->thread) : NULL;
	uint64_t from = h->n_slices ? h->slices[0].start_ns : 0;

	if (!thread)
		return;
	if (from < a->start_ns)
		from = a->start_ns;
	buf_printf(out, "# longest but for idle ones: ");
	put_duration(out, away_asleep_until(a, h->end_ns) - a->start_ns, false);
	buf_printf(out, ", %s, ", wait_kind_name(a->kind));
	terminal_escape(out, threads_comm(&t->threads, thread, a->start_ns));
	buf_printf(out, " %d; see: ", thread->pid);
	see_stack(out, t, from + (away_asleep_until(a, h->end_ns) - from) / 2, thread);
	buf_put_u8(out, 0);
}

static int show(const struct args *args, const struct trace_arg *t, const struct history *h, const bool *chosen,
		struct error *err)
{
	struct table table;
	struct view view = { .table = &table, .trace = t };
	struct buf heading = { 0 };
	int r;

	if (arg(args, "summary")) {
		wait_sums_table_init(&table, &t->session, h, chosen);
		view.default_sort = "asleep_ns";
	} else {
		waits_table_init(&table, &t->session, h, chosen);
		put_heading(&heading, t, h, chosen);
		view.heading = heading.len ? (char *)heading.data : NULL;
		view.default_output =
			arg(args, "stack") ? "start_ns,asleep_ns,ready_ns,kind,pid,comm,woken_by,stack" : NULL;
	}
	terminal_end_progress();
	r = view_print(&view, args, err);
	buf_free(&heading);
	table_deinit(&table);
	return r;
}

static int print(const struct args *args, const struct trace_arg *t, const struct choice *choice, struct error *err)
{
	struct history history;
	int r = EXIT_FAILED;

	if (history_open(&t->session, keeps_history(args, t), &history, err) == 0 &&
	    (history_tells_wakes(&history, &t->reader->meta) || trace_no_wakes(t, err) == 0)) {
		bool *chosen = xcalloc(history.n_aways, sizeof *chosen);

		for (size_t i = 0; i < history.n_aways; i++)
			chosen[i] = is_asked(choice, &t->threads, &history, &history.aways[i]);
		r = show(args, t, &history, chosen, err);
		free(chosen);
	}
	history_deinit(&history);
	return r;
}

static int run_on(const struct args *args, struct trace_arg *t, struct span span, struct error *err)
{
	struct choice choice = { .span = span, .processes = trace_row_threads(t) };
	struct selected selected;
	int r = EXIT_FAILED;

	if (select_arg(args, &t->session, &selected, err) == 0 &&
	    select_intervals(args, &t->session, &selected, &choice.intervals, err) == 0 &&
	    instruments_arg(args, t, err) == 0) {
		names_fold_thunks(&t->names);
		left_out_warn(args, t, LEFT_OUT_WAITS);
		choice.filter = &selected.options.filter;
		r = print(args, t, &choice, err);
	}
	free(choice.intervals.list);
	selected_deinit(&selected);
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
	r = run_on(args, &t, span, err);
	trace_arg_close(&t);
	return r;
}

static const struct option options[] = {
	{ 'p', "pid", "PID", "only this thread, the threads of this process, or those of all processes of that name" },
	SELECT_ROWS_COMM,
	SELECT_ROWS_DURATION("waits"),
	SELECT_ROWS_CODE("waits in a call of", "waited in a call of", "in a call of"),
	{ 0, "summary", NULL, "add waits up by kind and function" },
	{ 0, "stack", NULL, "with the stack that it waited in" },
	{ 0, "from", "TIME", "only waits that begin from then on: 1.5s, 20ms; " MOMENT_NAMES },
	{ 0, "to", "TIME", "only waits that begin before this guest time; likewise" },
	BOOT_OPTION,
	INSTRUMENTS_OPTION,
	VIEW_OPTIONS,
	SELECT_INTERVALS,
	HELP_OPTION,
	{ 0 },
};

static const struct legend legends[] = { { "columns", waits_columns, NULL },
					 { "columns of --summary", wait_sums_columns, NULL },
					 { 0 } };

const struct command cmd_waits = {
	.name = "waits",
	.operands = "TRACE",
	.summary = "who waited, for what, how long, and who ended it?",
	.description =
		"Lists every time that a thread was off the CPU: how long it slept, what for, and who woke it up; then how long it was ready "
		"while others had the CPU. --functions, --below, --not and --module go by the calls that are on its stack then.\n" HISTORY_NOTE,
	.examples =
		"  upto waits --pid 1 -s asleep_ns -n 20 trace.upto\n      what the first process waited for longest\n"
		"  upto waits --summary trace.upto\n      what everybody waited for\n"
		"  upto waits --min-duration 1ms --below do_init_module trace.upto\n      what loading modules waited for\n"
		"  upto waits --comm systemd-udevd --stack --from 2s trace.upto\n      where in the kernel\n",
	.needs = "tasks",
	.options = options,
	.legends = legends,
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
