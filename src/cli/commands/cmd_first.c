/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>

#include "analysis/sums/function_analysis.h"
#include "cli/args/select_arg.h"
#include "cli/args/trace_arg.h"
#include "cli/args/values_arg.h"
#include "cli/commands.h"
#include "cli/print/left_out_note.h"
#include "cli/print/view.h"
#include "tables/first_table.h"

static int show(const struct args *args, const struct trace_arg *t, const struct functions *f, const bool *only,
		const struct call_values *values, struct error *err)
{
	struct first_values given = { .values = values, .behind_name = values && !arg(args, "json") };
	struct table table;
	int r;

	first_table_init(&table, &t->session, f, only, &given);
	r = view_print(&(struct view){ .table = &table, .trace = t, .left_out = "" }, args, err);
	table_deinit(&table);
	return r;
}

static int run(const struct args *args, struct error *err)
{
	const struct call_values *asked;
	struct call_values values = { 0 };
	struct functions f;
	struct trace_arg t;
	struct span span;
	bool *only = NULL;
	int r = EXIT_FAILED, folded;

	if (span_arg(args, &span, err) < 0)
		return EXIT_USAGE;
	if (trace_arg_open_pass(args, CHOSEN_FOR_EVENTS, folded_options, &t, err) < 0)
		return EXIT_FAILED;
	thunks_arg(args, &t);
	folded = instruments_arg(args, &t, err);
	if (folded == 0 && t.session.fold)
		trace_arg_index(&t);
	if (folded == 0 && args_arg(args, &t, &values, &asked, err) == 0 &&
	    only_arg(args, &t.names, &only, err) == 0 && functions_analyse(&t.session, &span, &f, err) == 0) {
		r = show(args, &t, &f, only, asked, err);
		functions_deinit(&f);
	}
	call_values_deinit(&values);
	free(only);
	trace_arg_close(&t);
	return r;
}

static const struct option options[] = {
	VIEW_OPTIONS,
	ARGS_OPTION,
	THUNKS_OPTION,
	INSTRUMENTS_OPTION,
	SPAN_OPTIONS,
	ONLY_OPTIONS,
	SELECT_SPANS,
	SELECT_RING,
	SELECT_MIN_DURATION,
	SELECT_NO_INTERRUPTS,
	SELECT_CALLS,
	SELECT_DEPTH,
	SELECT_PID,
	SELECT_COMM,
	HELP_OPTION,
	{ 0 },
};

static const struct legend legends[] = { { "columns", first_columns, NULL }, LEFT_OUT_LEGEND, { 0 } };

const struct command cmd_first = {
	.name = "first",
	.operands = "TRACE [FUNCTION…]",
	.summary = "when was each function entered for the first time?",
	.description =
		"Lists every function that ran, in the order of its first entry, with where control came from and who ran.\n" THUNKS_NOTE,
	.examples = "  upto first trace.upto\n      how the boot begins\n"
		    "  upto first -n 0 trace.upto | grep _init\n      when each init function ran\n"
		    "  upto first --module ext4 trace.upto\n      what the module did, from its init function on\n"
		    "  upto first --from 2s --json trace.upto\n      from the third second on, as JSON\n",
	.options = options,
	.legends = legends,
	.min_operands = 1,
	.max_operands = OPERANDS_MAX,
	.run = run,
};
