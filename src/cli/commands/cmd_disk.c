/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/args/select_arg.h"
#include "cli/args/trace_arg.h"
#include "cli/commands.h"
#include "cli/print/quantity.h"
#include "cli/print/terminal.h"
#include "cli/print/view.h"
#include "replay/unknown.h"
#include "tables/disk_table.h"

/* What is asked for. */
struct choice {
	struct span span;           /* that they begin in … */
	struct intervals intervals; /* … and in one of these */
	const char *device;         /* NULL: any */
	const bool *processes;      /* of --pid: marks by number of thread; NULL: all */
	const struct thin_filter *filter;
};

static bool has_thread(const struct choice *choice, const struct threads *threads, const struct disk_request *r)
{
	long thread = r->task ? threads_find(threads, r->task, r->ns) : THREAD_NONE;

	if (choice->processes && (thread == THREAD_NONE || !choice->processes[thread]))
		return false;
	return !choice->filter->threads || (thread != THREAD_NONE && choice->filter->threads[thread]);
}

/* One that is not done is as long as can be. */
static bool is_asked(const struct choice *choice, const struct threads *threads, const struct disk_request *r)
{
	const struct thin_filter *f = choice->filter;
	uint64_t latency = r->end_ns - r->ns;

	if (r->ns < choice->span.from_ns || r->ns >= choice->span.to_ns || !intervals_have(&choice->intervals, r->ns))
		return false;
	if (choice->span.cpu >= 0 && r->cpu != (unsigned)choice->span.cpu)
		return false;
	if (latency < f->min_duration_ns || (f->max_duration_ns && latency > f->max_duration_ns))
		return false;
	return (!choice->device || !strcmp(choice->device, r->device)) && has_thread(choice, threads, r);
}

static void warn_early(const struct trace_arg *t)
{
	uint64_t early = early_facts(t->reader, REQUEST_SECTOR);
	struct buf line = { 0 };

	if (!early)
		return;
	terminal_escape(&line, t->reader->path);
	buf_printf(&line, ": requests before these are missing: ");
	put_amount(&line, early, false);
	buf_printf(
		&line,
		", from which it was learnt where this kernel keeps what a request says; another recording will have them");
	buf_put_u8(&line, 0);
	fprintf(stderr, "upto: %s\n", (char *)line.data);
	buf_free(&line);
}

static int no_requests(const struct trace_arg *t, const struct facts *facts, struct error *err)
{
	if (!t->reader->n_event_chunks)
		return error_set(err, "%s: has no events", t->reader->path);
	if (facts->count)
		return error_set(
			err,
			"%s: the trace has no requests to block devices: there were none, or 'upto info' tells what the kernel lacks",
			t->reader->path);
	return error_set(
		err,
		"%s: the trace has no requests to block devices: it was recorded without a Linux kernel that was found, or by an "
		"older upto",
		t->reader->path);
}

static int show(const struct args *args, const struct trace_arg *t, const struct choice *choice,
		const struct disk_requests *requests, struct error *err)
{
	bool *chosen = xcalloc(requests->count, sizeof *chosen);
	struct table table;
	struct view view = { .table = &table, .trace = t };
	int r;

	for (size_t i = 0; i < requests->count; i++)
		chosen[i] = is_asked(choice, &t->threads, &requests->list[i]);
	if (arg(args, "summary")) {
		disk_sums_table_init(&table, requests, chosen);
		view.default_sort = "latency_ns";
	} else {
		disk_table_init(&table, &t->threads, requests, chosen);
	}
	r = view_print(&view, args, err);
	table_deinit(&table);
	free(chosen);
	return r;
}

static int print(const struct args *args, const struct trace_arg *t, const struct choice *choice, struct error *err)
{
	struct disk_requests requests;
	struct facts facts;
	int r = EXIT_FAILED;

	if (facts_read(t->reader, &facts, err) == 0) {
		disk_requests_init(&requests, &facts, t->reader);
		warn_early(t);
		r = requests.count                    ? show(args, t, choice, &requests, err)
		    : no_requests(t, &facts, err) < 0 ? EXIT_FAILED
						      : EXIT_OK;
		disk_requests_deinit(&requests);
	}
	facts_deinit(&facts);
	return r;
}

static int run(const struct args *args, struct error *err)
{
	struct choice choice = { .device = arg(args, "device") };
	struct selected selected;
	struct trace_arg t;
	int r = EXIT_FAILED;

	if (span_arg(args, &choice.span, err) < 0)
		return EXIT_USAGE;
	if (trace_arg_open(args, &t, err) < 0)
		return EXIT_FAILED;
	choice.processes = t.asked_processes;
	if (select_arg(args, &t.session, &selected, err) == 0 &&
	    select_intervals(args, &t.session, &selected, &choice.intervals, err) == 0) {
		choice.filter = &selected.options.filter;
		r = print(args, &t, &choice, err);
	}
	free(choice.intervals.list);
	selected_deinit(&selected);
	trace_arg_close(&t);
	return r;
}

static const struct option options[] = {
	{ 'd', "device", "NAME", "only requests to this disk: vda" },
	{ 'p', "pid", "PID",
	  "only what this thread, the threads of this process, or those of all processes of that name sent" },
	SELECT_ROWS_COMM,
	SELECT_ROWS_DURATION("requests"),
	{ 0, "summary", NULL, "add requests up by device and operation" },
	SPAN_OPTIONS,
	VIEW_OPTIONS,
	SELECT_INTERVALS,
	HELP_OPTION,
	{ 0 },
};

static const struct legend legends[] = { { "columns", disk_columns, NULL },
					 { "columns of --summary", disk_sums_columns, NULL },
					 { 0 } };

const struct command cmd_disk = {
	.name = "disk",
	.operands = "TRACE",
	.summary = "what was read from disks and written to them, when, and how long did it take?",
	.description =
		"Lists the requests that the kernel sent to block devices: what, where, how much, and how long it took until all of it was done.\n",
	.examples = "  upto disk trace.upto\n      all of them\n"
		    "  upto disk --summary trace.upto\n      how much, and how long, by device and operation\n"
		    "  upto disk -s latency_ns -n 10 trace.upto\n      the slowest\n"
		    "  upto disk --device vda --from 2s --to 3s trace.upto\n      in one second\n",
	.needs = "facts",
	.options = options,
	.legends = legends,
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
