/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>

#include "cli/args/thin_file.h"
#include "cli/args/trace_arg.h"
#include "cli/commands.h"
#include "cli/print/output_file.h"

static int run(const struct args *args, struct error *err)
{
	struct thin_counts counts = { 0 };
	struct selected selected;
	struct buf said = { 0 };
	struct trace_arg t;
	int r;

	if (!arg(args, "output")) {
		error_set(err, "-o is missing: where is the smaller trace to go?");
		return EXIT_USAGE;
	}
	if (output_file_check(arg(args, "output"), OUTPUT_TRACE, arg(args, "force"), args->operands[0], err) < 0 ||
	    trace_arg_open_whole(args, &t, err) < 0)
		return EXIT_FAILED;
	r = select_arg(args, &t.session, &selected, err);
	selected.thorough = true;
	if (r == 0)
		r = thin_file(&selected, &t, arg(args, "output"), arg(args, "force"), &counts, err);
	selected_deinit(&selected);
	trace_arg_close(&t);
	if (r < 0)
		return EXIT_FAILED;
	thin_put(&counts, arg(args, "output"), &said);
	fwrite(said.data, 1, said.len, stdout);
	buf_free(&said);
	return EXIT_OK;
}

static const struct option options[] = {
	{ 'o', "output", "FILE", "the smaller trace" },
	FORCE_OPTION("file"),
	SELECT_SPANS,
	SELECT_RING,
	SELECT_MIN_DURATION,
	SELECT_NO_INTERRUPTS,
	SELECT_CALLS,
	SELECT_DEPTH,
	SELECT_PID,
	SELECT_COMM,
	SELECT_CODE,
	HELP_OPTION,
	{ 0 },
};

const struct command cmd_thin = {
	.name = "thin",
	.operands = "TRACE",
	.summary = "write a part of a trace as a smaller one",
	.description =
		"Writes a trace that has only what is chosen: spans of time, and calls within them. All commands read it as any other trace. What "
		"is not in a span is not known any more; stacks begin anew in each. Of the calls that are left out within them sums "
		"are kept, so that top shows the same functions with the same figures as before.\n"
		"A call whose entry or exit is told by the same event as that of one that is chosen is kept, too, and so is that by which "
		"a thread was made, and that in which it ended; of what was under way when the trace or a span began, there is no entry to leave out.\n" SELECT_WHOSE
		"A span begins and ends with an event, also if a time is given for it. What --limit cuts off is outside the spans: no sums are kept of it. Sums that the trace itself has of an earlier filter are left "
		"out where a part of it is taken: they are known of it as a whole.\n",
	.examples =
		"  upto thin --start entry:kernel_init_freeable --stop exit:kernel_init_freeable -o small.upto trace.upto\n"
		"      what the kernel did to get its drivers up\n"
		"  upto thin --min-duration 500us -o long.upto trace.upto\n      only calls that took long, as KFI's mintime\n"
		"  upto thin --start log:Oops --before 2s --limit 1000000 -o oops.upto trace.upto\n      the two seconds before something was logged, and what followed\n",
	.options = options,
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
