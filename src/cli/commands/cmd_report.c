/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <sys/stat.h>

#include "cli/args/page_arg.h"
#include "cli/args/recorded_facts.h"
#include "cli/commands.h"
#include "cli/print/ending_note.h"
#include "cli/print/file_sink.h"
#include "cli/print/output_file.h"
#include "cli/print/see.h"
#include "cli/print/terminal.h"
#include "report/report_page.h"

static int put_page(void *report, const struct sink *to, struct error *err)
{
	return report_page_put(report, to, err);
}

/* What it is, how large, and how to look at it. */
static void say_written(const char *path)
{
	struct buf line = { 0 };
	struct stat st;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || output_file_is_stdout(&st))
		return;
	terminal_escape(&line, path);
	printf("%.*s: %.1f MB; to look at it: xdg-open ", (int)line.len, (char *)line.data, (double)st.st_size / 1e6);
	line.len = 0;
	see_path(&line, path);
	printf("%.*s\n", (int)line.len, (char *)line.data);
	buf_free(&line);
}

static int report(const struct args *args, struct trace_arg *t, const char *path, struct error *err)
{
	struct report report = { 0 };
	struct recorded_facts beside;
	struct buf ended = { 0 };
	int r = recorded_facts_read(args, t, false, &beside, err);

	report.records = beside.events ? &beside.facts : NULL;
	report.records_of = &beside.of;
	if (r == 0)
		r = report_analyse(&t->session, is_worth_index(t), &report, err);
	if (r == 0) {
		ending_note(t, &report.history.facts, &ended);
		buf_put_u8(&ended, 0);
		report.ended = (char *)ended.data;
		r = file_sink_write(path, arg(args, "force"), put_page, &report, err);
	}
	terminal_end_progress();
	report_deinit(&report);
	recorded_facts_deinit(&beside);
	buf_free(&ended);
	return r;
}

static int run(const struct args *args, struct error *err)
{
	const char *path = arg(args, "output") ? arg(args, "output") : "report.html";
	struct trace_arg t;
	int r;

	if (!report_page_is_there())
		return error_set(err, "report: this upto was built without the page: Node.js and npm were not there. Install "
				      "them, and build again"),
		       EXIT_FAILED;
	if (output_file_check(path, OUTPUT_TEXT, arg(args, "force"), args->operands[0], err) < 0 ||
	    page_arg_open(args, &t, err) < 0)
		return EXIT_FAILED;
	r = report(args, &t, path, err);
	trace_arg_close(&t);
	if (r == 0)
		say_written(path);
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

static const struct option options[] = {
	{ 'o', "output", "FILE", "where to (default: report.html)" },
	FORCE_OPTION("file"),
	NO_EVENTS_OPTION,
	INSTRUMENTS_OPTION,
	HELP_OPTION,
	{ 0 },
};

const struct command cmd_report = {
	.name = "report",
	.operands = "TRACE",
	.summary = "make a page to look at: why, timeline, flame graphs, tables",
	.description =
		"Writes one file of HTML that opens in any browser, from disk, without a network: what the time went into and why, the timeline with "
		"phases, CPUs, processes, units and the kernel's log, flame graphs of all, of a process or a phase, and tables of functions, first "
		"calls, system calls, processes, waits and lines of the log. A click on a phase or a process narrows everything else to it, one on "
		"a unit or another span the tables; the address names what is seen, so that it can be passed on.\n"
		"Sums are those of upto-top(1). What is many and small is joined in the picture: runs that are close to each other, the shortest spans "
		"and waits, calls of less than a 20,000th of all.\n" HISTORY_NOTE INDEX_NOTE,
	.examples = "  upto report trace.upto -o boot.html\n      a page about the boot\n",
	.options = options,
	.reads_all = true,
	.for_programs = true,
	.needs = "stacks",
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
