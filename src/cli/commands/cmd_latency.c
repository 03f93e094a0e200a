/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/history/history_file.h"
#include "analysis/latency/latency.h"
#include "cli/args/name_list.h"
#include "cli/args/select_arg.h"
#include "cli/args/trace_arg.h"
#include "cli/args/trace_has.h"
#include "cli/commands.h"
#include "cli/print/left_out_note.h"
#include "cli/print/quantity.h"
#include "cli/print/see.h"
#include "cli/print/terminal.h"
#include "cli/print/view.h"
#include "tables/latency_table.h"

enum { EACH = 5, EACH_MAX = 1000 };

static const char *kind_at(const void *data, size_t i)
{
	(void)data;
	return latency_kind_name((enum latency_kind)i);
}

static int read_kinds(const struct args *args, bool *kinds, struct error *err)
{
	static const struct name_list all = { .count = LATENCY_KINDS, .at = kind_at, .what = "kind", .where = "" };
	const char *list = arg(args, "kind");

	if (list)
		return name_list_mark(&all, &list, 1, kinds, NULL, err);
	memset(kinds, true, LATENCY_KINDS * sizeof *kinds);
	return 0;
}

static int read_options(const struct args *args, struct latency_options *ret, struct error *err)
{
	uint64_t each = EACH;

	*ret = (struct latency_options){ 0 };
	if (span_arg(args, &ret->span, err) < 0 || read_kinds(args, ret->kinds, err) < 0 ||
	    arg_u64(args, "each", &each, err) < 0)
		return -1;
	if (!each || each > EACH_MAX)
		return error_set(err, "--each %s: 1 to %d", arg(args, "each"), EACH_MAX);
	ret->each = each;
	return 0;
}

/* Is there a kind that is asked for, and told of? */
static bool tells_any(const struct latency_options *options, const struct latencies *l, bool no_wakes)
{
	for (int kind = 0; kind < LATENCY_KINDS; kind++)
		if (options->kinds[kind] && !l->lacks[kind] && !(kind == LATENCY_WAKEUP && no_wakes))
			return true;
	return false;
}

static const char *why_lacking(enum latency_kind kind)
{
	return kind == LATENCY_TIMER ? "nothing in the trace tells when timers are due"
				     : "in this kernel the functions that tell of it are inlined, or have no names";
}

/* What the kernel or the trace does not tell of. */
static void warn_lacks(const struct trace_arg *t, const struct latency_options *options, const struct latencies *l,
		       bool no_wakes)
{
	struct buf path = { 0 };

	terminal_escape(&path, t->reader->path);
	buf_put_u8(&path, 0);
	for (int kind = 0; kind < LATENCY_KINDS; kind++)
		if (options->kinds[kind] && l->lacks[kind])
			fprintf(stderr, "upto: %s: no %s: %s\n", (char *)path.data,
				latency_kind_name((enum latency_kind)kind), why_lacking((enum latency_kind)kind));
	if (no_wakes)
		fprintf(stderr, "upto: %s: no wakeup: the trace has no wake-ups\n", (char *)path.data);
	buf_free(&path);
}

/* Of all kinds that are asked for nothing is told: why. */
static void set_lacking(const struct trace_arg *t, const struct latency_options *options, struct error *err)
{
	enum latency_kind kind = 0;

	while (kind < LATENCY_WAKEUP && !options->kinds[kind])
		kind++;
	if (options->kinds[LATENCY_WAKEUP] || t->threads.count < 2)
		trace_no_wakes(t, err);
	else
		error_set(err, "%s: no %s: %s", t->reader->path, latency_kind_name(kind), why_lacking(kind));
}

/* The longest of all, and the command that looks into it: what its vCPU did. */
static void put_heading(struct buf *out, const struct trace_arg *t, const struct latencies *all)
{
	const struct latency *longest = all->list;

	for (size_t i = 1; i < all->count; i++)
		if (all->list[i].end_ns - all->list[i].start_ns > longest->end_ns - longest->start_ns)
			longest = &all->list[i];
	buf_printf(out, "# longest: %s, ", latency_kind_name(longest->kind));
	put_duration(out, longest->end_ns - longest->start_ns, false);
	buf_printf(out, "; see: ");
	see_top(out, t, longest->start_ns, longest->end_ns, NULL,
		longest->cpu == LATENCY_NO_CPU ? -1 : (int)longest->cpu);
	buf_put_u8(out, 0);
}

static int show(const struct args *args, const struct trace_arg *t, const struct latencies *l, struct error *err)
{
	struct table table;
	struct buf heading = { 0 };
	int r;

	latency_table_init(&table, &t->session, l);
	if (l->count)
		put_heading(&heading, t, l);
	terminal_end_progress();
	r = view_print(&(struct view){ .table = &table, .heading = (char *)heading.data, .trace = t }, args, err);
	buf_free(&heading);
	table_deinit(&table);
	return r;
}

static int print(const struct args *args, struct trace_arg *t, const struct latency_options *options, struct error *err)
{
	struct history history = { 0 };
	struct latencies found = { 0 };
	bool wakes = options->kinds[LATENCY_WAKEUP], has_wakes;
	int r = EXIT_FAILED;

	if (!wakes || history_open(&t->session, keeps_history(args, t), &history, err) == 0) {
		has_wakes = wakes && history_tells_wakes(&history, &t->reader->meta);
		if (latency_analyse(&t->session, has_wakes ? &history : NULL, options, &found, err) == 0) {
			if (tells_any(options, &found, !has_wakes)) {
				warn_lacks(t, options, &found, wakes && !has_wakes);
				r = show(args, t, &found, err);
			} else {
				set_lacking(t, options, err);
			}
		}
	}
	latencies_deinit(&found);
	history_deinit(&history);
	return r;
}

static int run_on(const struct args *args, struct trace_arg *t, struct latency_options *options, struct error *err)
{
	struct selected selected;
	struct intervals intervals = { 0 };
	int r = EXIT_FAILED;

	if (select_arg(args, &t->session, &selected, err) == 0 &&
	    select_intervals(args, &t->session, &selected, &intervals, err) == 0 &&
	    instruments_arg(args, t, err) == 0) {
		options->intervals = &intervals;
		options->processes = trace_row_threads(t);
		options->threads = selected.options.filter.threads;
		names_fold_thunks(&t->names);
		left_out_warn(args, t, LEFT_OUT_WAITS);
		trace_arg_open_index(t);
		r = print(args, t, options, err);
	}
	free(intervals.list);
	selected_deinit(&selected);
	return r;
}

static int run(const struct args *args, struct error *err)
{
	struct latency_options options;
	struct trace_arg t;
	int r;

	if (read_options(args, &options, err) < 0)
		return EXIT_USAGE;
	if (trace_arg_open(args, &t, err) < 0)
		return EXIT_FAILED;
	r = run_on(args, &t, &options, err);
	trace_arg_close(&t);
	return r;
}

static const struct option options[] = {
	{ 'k', "kind", "KINDS", "only these: interrupts-off, preemption-off, softirq, timer, wakeup", ',' },
	{ 0, "each", "N", "at most so many of each kind (default: 5)" },
	{ 'p', "pid", "PID",
	  "only in this thread, the threads of this process, or those of all processes of that name" },
	SELECT_ROWS_COMM,
	SPAN_OPTIONS,
	INSTRUMENTS_OPTION,
	VIEW_OPTIONS,
	SELECT_INTERVALS,
	HELP_OPTION,
	{ 0 },
};

static const struct legend legends[] = { { "columns", latency_columns, NULL }, { 0 } };

const struct command cmd_latency = {
	.name = "latency",
	.operands = "TRACE",
	.summary = "what kept interrupts, softirqs and woken threads waiting longest?",
	.description =
		"Lists the longest times with interrupts off, with preemption off, from where a softirq was asked for to where softirqs are "
		"run, from when a vCPU's own timer is due to its interrupt, and from a wake-up to where the thread runs: where each began and ended, and who held the vCPU meanwhile.\n"
		"Locks and interrupts tell when interrupts and preemption are off; instructions that do so by themselves are not seen. So these "
		"times are at least so long, and those that cannot have lasted are left out. Where preemption is off, a thread that is not to "
		"be preempted (preempt=none, voluntary) runs on anyway. A timer is late while interrupts are off, and where QEMU itself is: with "
		"--deterministic only the former.\n" HISTORY_NOTE,
	.examples =
		"  upto latency trace.upto\n      the five longest of each kind\n"
		"  upto latency --kind wakeup --each 20 trace.upto\n      which threads waited longest for a CPU after they were woken up\n"
		"  upto latency --kind interrupts-off -o duration_ns,start_ns,stack trace.upto\n      with the stacks in which they were turned off\n"
		"  upto latency --from exec:init --json trace.upto\n      since the first process began\n",
	.needs = "stacks",
	.options = options,
	.legends = legends,
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
