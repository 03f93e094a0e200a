/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/args/select_arg.h"
#include "cli/args/trace_arg.h"
#include "cli/commands.h"
#include "cli/print/terminal.h"
#include "kd_functions.h"
#include "kd_log.h"
#include "kd_rows.h"

enum { DEPTH = 20, DEPTH_MAX = 1000, NAME_LENGTH = 40 };

/* The letters of -f, each of which must be a column's and stand once, or those of -l, or the usual ones. */
static int letters_arg(const struct args *args, const struct kd_column *columns, const char *usual, const char *all,
		       const char **ret, struct error *err)
{
	const char *given = arg(args, "fields");

	*ret = given ? given : arg(args, "long") ? all : usual;
	for (const char *l = *ret; *l; l++)
		if (!kd_column_find(columns, *l) || strchr(l + 1, *l))
			break;
		else if (!l[1])
			return 0;
	error_set(err, "-f '%s': not the letters of columns, each once: ", *ret);
	for (size_t n = strlen(err->text); columns->letter && n + 1 < sizeof err->text; columns++, n++) {
		err->text[n] = columns->letter;
		err->text[n + 1] = '\0';
	}
	return -1;
}

/* Options that are only for the one table, or for the other. */
static int check_options(const struct args *args, struct error *err)
{
	static const struct { const char *name; bool calls; } only[] = {
		{ "lines", false }, { "min-time", false }, { "sort", false },
		{ "interlaced", true }, { "depth", true }, { "name-length", true }, { "stream", true },
	};
	bool calls = arg(args, "calls");

	for (size_t i = 0; i < sizeof only / sizeof *only; i++)
		if (arg(args, only[i].name) && only[i].calls != calls)
			return error_set(err, "--%s: goes only %s -c", only[i].name, calls ? "without" : "with");
	return 0;
}

static int functions_options(const struct args *args, struct kd_functions_options *ret, struct error *err)
{
	const char *sort = arg(args, "sort");

	*ret = (struct kd_functions_options){
		.sort = 't', .lines = UINT64_MAX, .has_min = arg(args, "min-time"), .json = arg(args, "json"),
	};
	if (arg_u64(args, "lines", &ret->lines, err) < 0 || arg_u64(args, "min-time", &ret->more_than_us, err) < 0)
		return -1;
	if (arg(args, "lines") && !ret->lines)
		ret->lines = UINT64_MAX;
	if (sort && (strlen(sort) != 1 || !strchr(KD_FUNCTION_SORT, *sort)))
		return error_set(err, "-s '%s': not one of the letters " KD_FUNCTION_SORT, sort);
	if (sort)
		ret->sort = *sort;
	return letters_arg(args, kd_function_columns, KD_FUNCTION_LETTERS, KD_FUNCTION_LETTERS_LONG, &ret->letters,
			   err);
}

/* Say that there is nothing to show, so that it is not taken for a fault. */
static void say_if_empty(const char *path, uint64_t calls)
{
	struct buf safe = { 0 };

	if (calls || fflush(stdout))
		return;
	terminal_escape(&safe, path);
	buf_put_u8(&safe, 0);
	fprintf(stderr, "upto: %s: has no calls\n", (char *)safe.data);
	buf_free(&safe);
}

static int run_functions(const struct args *args, struct error *err)
{
	struct kd_functions_options o;
	struct kd_sums sums;
	struct kfi_log log;
	int r = EXIT_FAILED;

	if (functions_options(args, &o, err) < 0)
		return EXIT_USAGE;
	if (kd_log_sums(args, arg(args, "as-kd"), &log, &sums, err) == 0) {
		terminal_start_pager();
		kd_functions_print(&log, &sums, &o);
		say_if_empty(args->operands[0], sums.count);
		r = EXIT_OK;
	}
	kd_sums_deinit(&sums);
	kfi_log_deinit(&log);
	return r;
}

static int rows_options(const struct args *args, struct kd_rows *ret, struct error *err)
{
	uint64_t depth = DEPTH, length = NAME_LENGTH;

	*ret = (struct kd_rows){
		.interlaced = arg(args, "interlaced"), .json = arg(args, "json"), .flush = arg(args, "stream"),
	};
	if (arg_u64(args, "depth", &depth, err) < 0 || arg_u64(args, "name-length", &length, err) < 0)
		return -1;
	if (!depth || depth > DEPTH_MAX)
		return error_set(err, "--depth %s: not a number from 1 to %d", arg(args, "depth"), DEPTH_MAX);
	if (!length)
		return error_set(err, "--name-length 0: expected a number above 0");
	ret->depth = (uint32_t)depth;
	ret->name_length = length;
	return letters_arg(args, kd_row_columns, KD_ROW_LETTERS, KD_ROW_LETTERS_LONG, &ret->letters, err);
}

static void add_call(void *data, const struct kfi_call *call)
{
	kd_trace_add(data, call);
}

static int print_stream(const struct args *args, struct kd_rows *rows, const struct kd_trace_options *options,
			struct error *err)
{
	struct kfi_log log = { 0 };
	struct kd_trace *trace = kd_trace_new(&log, options);
	struct kd_log_reader reader = { .call = add_call, .data = trace };
	int r;

	rows->log = &log;
	r = kd_log_stream(args, &reader, &log, err);
	/* after a fault, what was read up to there is shown */
	kd_trace_finish(trace);
	kd_rows_end(rows, r == 0);
	if (r == 0)
		say_if_empty(args->operands[0], rows->shown);
	kd_trace_free(trace);
	kfi_log_deinit(&log);
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

static int print_whole(const struct args *args, struct kd_rows *rows, const struct kd_trace_options *options,
		       struct error *err)
{
	struct kd_trace *trace;
	struct kfi_log log;
	int r = EXIT_FAILED;

	if (kd_log_open(args, &log, err) == 0) {
		terminal_start_pager();
		rows->log = &log;
		trace = kd_trace_new(&log, options);
		for (size_t i = 0; i < log.n; i++)
			kd_trace_add(trace, &log.calls[i]);
		kd_trace_finish(trace);
		kd_rows_end(rows, true);
		kd_trace_free(trace);
		say_if_empty(args->operands[0], log.n);
		r = EXIT_OK;
	}
	kfi_log_deinit(&log);
	return r;
}

static int run_calls(const struct args *args, struct error *err)
{
	struct kd_rows rows;
	struct kd_trace_options options = { .as_kd = arg(args, "as-kd"), .row = kd_rows_print, .data = &rows };

	if (rows_options(args, &rows, err) < 0)
		return EXIT_USAGE;
	options.no_local = !rows.json && !strchr(rows.letters, 'l');
	return (arg(args, "stream") ? print_stream : print_whole)(args, &rows, &options, err);
}

static int run(const struct args *args, struct error *err)
{
	if (check_options(args, err) < 0)
		return EXIT_USAGE;
	return arg(args, "calls") ? run_calls(args, err) : run_functions(args, err);
}

static const struct option options[] = {
	{ 'n', "lines", "NUM", "only the first NUM functions; 0: all (default)" },
	{ 't', "min-time", "USECS", "only functions with more than this time" },
	{ 'f', "fields", "LETTERS", "the columns, by letter (default: Fctal, with -c et)" },
	{ 'l', "long", NULL, "more columns: Fctalsmn, with -c etlp" },
	{ 's', "sort", "LETTER", "order by F c t a s or l, the largest first (default: t)" },
	{ 'c', "calls", NULL, "a trace of the calls, as they came" },
	{ 'i', "interlaced", NULL, "with -c: a sign for each tree of calls, and lines where one cuts into another" },
	{ 'd', "depth", "NUM", "with -c: so many levels (default: 20)" },
	{ 'm', "name-length", "NUM", "with -c: so many letters of a name (default: 40)" },
	{ 'r', "stream", NULL, "with -c: print while reading; rows with a local time wait for the call's end" },
	{ 0, "as-kd", NULL, "sub-time and local time as kd computes them: by the names of callers" },
	{ 0, "json", NULL, "print JSON" },
	SELECT_SPANS,
	SELECT_RING,
	SELECT_MIN_DURATION,
	SELECT_NO_INTERRUPTS,
	SELECT_CALLS,
	SELECT_PID,
	SELECT_COMM,
	HELP_OPTION,
	{ 0 },
};

static const struct term letters[] = {
	{ "F", "Function: name, or address if the log was not resolved (addr2sym)" },
	{ "c, t, a", "Count of calls, Time of all in microseconds, Average of those whose exit was seen" },
	{ "r", "Range: the shortest and the longest, (min-max)" },
	{ "s", "Sub-time: what callees took, and interrupts that cut in" },
	{ "l", "Local: time in the function itself, not in callees, interrupts and other threads" },
	{ "m, n", "Max-sub: the callee that took most of it; Ms count: how often it was called from here" },
	{ "u", "Sub list: all callees, NAME:COUNT:TIME with commas between them" },
	{ "with -c: e, t, l, p",
	  "Entry, Duration (-1: its exit was not seen) and Local in microseconds; Pid (-1: an interrupt)" },
	{ 0 },
};

static const struct term terms[] = {
	{ "run", "the log's header: id, start and stop (ns, by, function, usecs), filters, counters" },
	{ "functions", "the sums, by function" },
	{ "calls", "with -c: the rows" },
	{ "function", "name or address" },
	{ "count, no_exit", "calls; how many of these were not seen to end" },
	{ "total_ns, average_ns", "time of all calls, and of one" },
	{ "shortest_ns, longest_ns", "of a call" },
	{ "sub_ns, local_ns", "of the time, what callees and interrupts took; what the function itself ran" },
	{ "subs", "its callees: function, count, total_ns; the one with the largest total first" },
	{ "start_ns, duration_ns", "with -c: when it was entered; how long it took, null: its exit was not seen" },
	{ "pid, interrupt", "with -c: thread; whether it ran in an interrupt" },
	{ "depth, tree", "with -c: levels below the first call of its tree; the tree's number" },
	{ "cuts_in", "with -c: the tree began while another one had not ended" },
	{ "caller, caller_offset", "with -c: where it was called, as the log has it" },
	{ 0 },
};

static const struct legend legends[] = { { "letters", NULL, letters }, { "json", NULL, terms }, { 0 } };

const struct command cmd_kd = {
	.name = "kd",
	.operands = "TRACE|LOG",
	.summary = "sums and calls as KFI's kd printed them: of a trace, or of a log of KFI or KFT",
	.description =
		"Reads a log of Kernel Function Instrumentation (KFI) or Kernel Function Trace (KFT), resolved by addr2sym or not, "
		"and prints a table of functions or, with -c, the calls as they came, in the columns of the kd program that came "
		"with these. "
		"LOG can be - for standard input. Of a trace, the calls of the kernel and its modules are shown in the same way; two functions of one name stay "
		"apart, as NAME and NAME#2. --start, --stop and the filters choose from a trace (upto-thin(1)).\n"
		"kd took the rows whose caller has a function's name for that function's callees. So its local times contained "
		"interrupts and other threads, and became negative where rows were missing. Here calls lie in each other "
		"by thread and time; where no row is missing and nothing cuts in, the figures are the same. "
		"--as-kd computes as kd did. With -r only callers that are names are known: resolve the log first.\n"
		"A call without an exit counts, but has no time. Of a trace, Local is all that ran in the function, as top has it: in calls without an exit, too, and "
		"the same with filters as without: it may be more than Time, which is of the calls that were chosen. A program named kd that is a link to upto is this command.\n",
	.examples = "  upto kd -n 20 boot.lst\n      the functions that took longest\n"
		    "  upto kd -s l -f Fclr boot.lst\n      by the time in the functions themselves, with their range\n"
		    "  upto kd -c -l -i boot.lst\n      all calls, and who cut in\n"
		    "  upto kd boot.lst | grep '_init[^a-z_]'\n      initcalls\n",
	.options = options,
	.reads_all = true,
	.legends = legends,
	.needs = "stacks",
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
