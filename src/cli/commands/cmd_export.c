/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/args/recorded_facts.h"
#include "cli/args/select_arg.h"
#include "cli/args/trace_arg.h"
#include "cli/args/trace_has.h"
#include "cli/args/trace_lacks.h"
#include "cli/commands.h"
#include "cli/print/file_sink.h"
#include "cli/print/output_file.h"
#include "cli/print/output_folder.h"
#include "cli/print/quantity.h"
#include "cli/print/terminal.h"
#include "export/max_size.h"

/* What goes into the file: the format, what is asked of it, and the trace. */
struct job {
	const struct exporter *exporter;
	struct export_options options;
	struct trace_arg trace;
	struct recorded_facts facts;
	struct stream_left left;
};

static int put(void *context, const struct sink *to, struct error *err)
{
	struct job *job = context;

	return job->exporter->put(&job->trace.session, &job->options, to, err);
}

static int put_folder(void *context, int folder, struct error *err)
{
	struct job *job = context;

	return job->exporter->put_folder(&job->trace.session, &job->options, &(struct folder){ .fd = folder }, err);
}

/* "kfi, folded or csv" */
static void put_names(struct buf *out)
{
	const struct exporter *e;

	for (size_t i = 0; (e = exporter_at(i)) != NULL; i++)
		buf_printf(out, "%s%s", !i ? "" : exporter_at(i + 1) ? ", " : " or ", e->name);
	buf_put_u8(out, 0);
}

static int no_such_format(const char *name, struct error *err)
{
	struct buf names = { 0 };

	put_names(&names);
	error_set(err, "--to %s: %s", name ? name : "is missing", (char *)names.data);
	buf_free(&names);
	return EXIT_USAGE;
}

/* "-" is standard output, as where none is named: NULL. */
static const char *output_path(const struct args *args)
{
	const char *path = arg(args, "output");

	return path && strcmp(path, "-") ? path : NULL;
}

/* What is asked of a format must be what it has. */
static int check(const struct args *args, const struct exporter *e, struct error *err)
{
	static const struct { const char *option; unsigned kinds; } needs[] = {
		{ "clock", 1u << EXPORTS_SUMS },
		{ "by", 1u << EXPORTS_SUMS },
		{ "max-size", 1u << EXPORTS_STREAM | 1u << EXPORTS_SUMS },
		{ "no-events", 1u << EXPORTS_STREAM },
	};

	for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
		if (arg(args, needs[i].option) && !(needs[i].kinds & 1u << e->kind))
			return error_set(err, "--%s: not with --to %s", needs[i].option, e->name);
	if (arg(args, "by") && !e->split)
		return error_set(err, "--by: not with --to %s", e->name);
	if (e->put_folder && !output_path(args))
		return error_set(err, "--to %s: it is a folder, so -o must say where", e->name);
	return 0;
}

static int open_for(const struct args *args, const struct exporter *e, struct trace_arg *ret, struct error *err)
{
	static const char *const none[] = { NULL };
	/* as folded_options, and this, which the stream heeds itself */
	static const char *const streamed[] = {
		"min-duration", "pid", "comm", "functions", "not", "below", "depth", "kernel", "user", "module",
		"no-interrupts", "only-interrupts", NULL,
	};
	const char *const *heeded = e->kind == EXPORTS_LOG      ? none
				    : e->kind == EXPORTS_STREAM ? streamed
								: folded_options;

	return trace_arg_open_pass(args, e->kind == EXPORTS_SUMS ? CHOSEN_FOR_EVENTS : CHOSEN_FOR_CALLS, heeded, ret,
				   err);
}

/* "200M": bytes */
static int size_arg(const struct args *args, uint64_t *ret, struct error *err)
{
	const char *text = arg(args, "max-size");
	char *end;
	double n;

	if (!text)
		return 0;
	n = strtod(text, &end);
	n *= *end == 'k' || *end == 'K' ? 1e3 : *end == 'M' ? 1e6 : *end == 'G' ? 1e9 : 1;
	end += *end && strchr("kKMG", *end) ? 1 : 0;
	if (*end || end == text || !(n >= 1) || n > 1e18)
		return error_set(err, "--max-size %s: a number of bytes: 500k, 200M, 2G", text);
	*ret = (uint64_t)n;
	return 0;
}

static int options_arg(const struct args *args, struct job *job, struct error *err)
{
	const char *by = arg(args, "by");
	struct stream_options *part = &job->options.part;

	part->to_ns = UINT64_MAX;
	if (by)
		job->options.split = !strcmp(by, "process") ? SPLIT_PROCESS : !strcmp(by, "thread") ? SPLIT_THREAD : 0;
	if (by && !job->options.split)
		return error_set(err, "--by %s: process or thread", by);
	if (arg_time(args, "from", &part->from_ns, err) < 0 || arg_time(args, "until", &part->to_ns, err) < 0)
		return -1;
	if (part->from_ns > part->to_ns)
		return error_set(err, "--from %s is behind --until %s", arg(args, "from"), arg(args, "until"));
	return arg(args, "min-duration") ? arg_time(args, "min-duration", &part->min_ns, err) : 0;
}

/* Lines of the log, wake-ups, records: where the format has room for them. */
static int read_facts(const struct args *args, struct job *job, struct error *err)
{
	if (job->exporter->kind != EXPORTS_STREAM)
		return 0;
	if (recorded_facts_read(args, &job->trace, true, &job->facts, err) < 0)
		return -1;
	job->options.part.facts = &job->facts.facts;
	if (job->facts.events) {
		job->options.formats = &job->facts.formats;
		job->options.events = job->facts.of.decoder;
	}
	return 0;
}

static void say_left_calls(const struct job *job)
{
	const struct stream_left *left = &job->left;
	struct buf line = { 0 };

	if (job->options.part.no_calls) {
		buf_printf(&line, "all calls");
	} else if (left->short_calls) {
		put_count(&line, left->short_calls);
		buf_printf(&line, " calls that took less than ");
		put_duration(&line, job->options.part.min_ns, false);
	}
	if (left->deep_calls) {
		buf_printf(&line, "%s", line.len ? ", and " : "");
		put_count(&line, left->deep_calls);
		buf_printf(&line, " calls with %u or more around them", left->max_depth);
	}
	if (line.len)
		fprintf(stderr, "upto: left out: %.*s; what ran in them is their callers'\n", (int)line.len,
			(char *)line.data);
	buf_free(&line);
}

/* What the file lacks is said. */
static void say_left(const struct job *job)
{
	struct buf line = { 0 };

	say_left_calls(job);
	if (job->options.smallest) {
		put_count(&line, job->options.smallest);
		fprintf(stderr, "upto: left out: paths with less than %.*s %s; what ran in them is their callers'\n",
			(int)line.len, (char *)line.data, job->options.by_ns ? "ns" : "instructions");
	}
	buf_free(&line);
}

static int export(const struct args *args, struct job *job, struct error *err)
{
	const char *path = output_path(args);
	uint64_t max_bytes = 0;

	trace_choose_clock(&job->trace, &job->options.by_ns);
	names_fold_thunks(&job->trace.names);
	if (instruments_arg(args, &job->trace, err) < 0)
		return -1;
	trace_arg_open_index(&job->trace);
	job->options.make_index = is_worth_index(&job->trace);
	job->options.title = args->operands[0];
	job->options.left = &job->left;
	if (job->options.part.to_ns > trace_end_ns(&job->trace))
		job->options.part.to_ns = UINT64_MAX;
	if (read_facts(args, job, err) < 0 || size_arg(args, &max_bytes, err) < 0 ||
	    (max_bytes && max_size_fit(job->exporter, &job->trace.session, &job->options, max_bytes, err) < 0))
		return -1;
	if (job->exporter->put_folder)
		return output_folder_write(path, &job->trace.session, put_folder, job, err);
	return file_sink_write(path, arg(args, "force"), put, job, err);
}

struct cut {
	char start[40], stop[40];
};

/* Formats of sums and rows are of what is chosen: a part of the time is chosen as by --start and --stop. */
static int cut_by_conditions(struct args *args, const struct job *job, struct cut *cut, struct error *err)
{
	const struct stream_options *part = &job->options.part;
	bool from = arg(args, "from"), until = arg(args, "until");

	if (job->exporter->kind == EXPORTS_STREAM || (!from && !until))
		return 0;
	if (arg(args, "start") || arg(args, "stop"))
		return error_set(err, "--to %s: --%s, or --start and --stop, not both", job->exporter->name,
				 from ? "from" : "until");
	snprintf(cut->start, sizeof cut->start, "time:%" PRIu64 "ns", part->from_ns);
	snprintf(cut->stop, sizeof cut->stop, "time:%" PRIu64 "ns", part->to_ns);
	for (unsigned i = 0; args->command->options[i].name; i++) {
		if (from && part->from_ns && !strcmp(args->command->options[i].name, "start"))
			args->values[i] = cut->start;
		if (until && !strcmp(args->command->options[i].name, "stop"))
			args->values[i] = cut->stop;
	}
	return 0;
}

static int run_on(const struct args *args, struct job *job, struct error *err)
{
	int r;

	if (open_for(args, job->exporter, &job->trace, err) < 0)
		return EXIT_FAILED;
	r = export(args, job, err);
	recorded_facts_deinit(&job->facts);
	trace_arg_close(&job->trace);
	if (r == 0)
		say_left(job);
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

static int run(const struct args *args, struct error *err)
{
	struct args chosen = *args;
	struct cut cut;
	struct job job = { .exporter = arg(args, "to") ? exporter_find(arg(args, "to")) : NULL };
	const char *path = output_path(args);
	uint64_t size;

	if (!job.exporter)
		return no_such_format(arg(args, "to"), err);
	if (clock_arg(args, &job.options.by_ns, err) < 0 || check(args, job.exporter, err) < 0 ||
	    options_arg(args, &job, err) < 0 || size_arg(args, &size, err) < 0 ||
	    cut_by_conditions(&chosen, &job, &cut, err) < 0)
		return EXIT_USAGE;
	if (path && job.exporter->put &&
	    output_file_check(path, OUTPUT_TEXT, arg(args, "force"), args->operands[0], err) < 0)
		return EXIT_FAILED;
	return run_on(&chosen, &job, err);
}

/*
 * In other commands --to is a time, here it is a format; if it is given twice, the one that names no format is the
 * time.
 */
static int prepare(struct args *args, struct error *err)
{
	const struct option *options = args->command->options;
	unsigned to = 0, until = 0;
	char *second;

	for (unsigned i = 0; options[i].name; i++) {
		to = strcmp(options[i].name, "to") ? to : i;
		until = strcmp(options[i].name, "until") ? until : i;
	}
	second = args->values[to] ? strchr(args->values[to], ',') : NULL;
	if (!second)
		return 0;
	if (args->values[until])
		return error_set(err, "--to %s: and --until: one time", args->values[to]);
	if (exporter_find(second + 1)) {
		args->joined[until] = xstrndup(args->values[to], (size_t)(second - args->values[to]));
		args->values[until] = args->joined[until];
		args->values[to] = second + 1;
	} else {
		args->values[until] = second + 1;
		*second = '\0';
	}
	return 0;
}

static const struct option options[] = {
	{ 0, "to", "FORMAT", "the format: perfetto, firefox, flamegraph, csv …: upto-export(1) has all; a second --to is a time", ',' },
	{ 'o', "output", "FILE", "where to (default: standard output)" },
	FORCE_OPTION("file"),
	{ 0, "clock", "insns|ns", "of formats of sums: what is weighed (default: insns)" },
	{ 0, "by", "process|thread", "of folded, flamegraph, pprof: each process or thread for itself" },
	{ 0, "max-size", "SIZE", "at most so large, without what is short or small: 200M, 2G" },
	{ 0, "from", "TIME", "only what happens from then on: 1.5s, 20ms; " MOMENT_NAMES },
	{ 0, "until", "TIME", "only what happens before this guest time; said as --from" },
	BOOT_OPTION,
	NO_EVENTS_OPTION,
	SELECT_SPANS,
	SELECT_RING,
	SELECT_MIN_DURATION,
	SELECT_NO_INTERRUPTS,
	SELECT_CALLS,
	SELECT_DEPTH,
	SELECT_PID,
	SELECT_COMM,
	SELECT_CODE,
	INSTRUMENTS_OPTION,
	HELP_OPTION,
	{ 0 },
};

const struct command cmd_export = {
	.name = "export",
	.operands = "TRACE",
	.summary = "write a trace in another format",
	.description =
		"Formats of calls in their order, with who runs where, lines of the log and records of trace events as far as they have room:\n"
		"perfetto: for ui.perfetto.dev (drop the file there) and trace_processor: a track for each thread, CPUs, who waits, the log, events.\n"
		"firefox: for profiler.firefox.com. Samples are weighed with the time that ran, so that all sums are exact; log and events are markers.\n"
		"speedscope: for speedscope.app: each thread over the time that it ran itself.\n"
		"chrome: Chrome's trace events (JSON), which most viewers read.\n"
		"trace.dat: for trace-cmd report and KernelShark: function_graph, switches, wake-ups; log and events as prints.\n"
		"ftrace: text as ftrace's function_graph prints it.\n"
		"uftrace: a folder for uftrace report, graph, replay and tui: calls only.\n"
		"ctf: a folder for babeltrace2 and Trace Compass; switches, wake-ups and the log have LTTng's names.\n"
		"Formats of sums, of all calls that are chosen; a part of the time begins and ends with an event there:\n"
		"folded: a line for each path of calls, outermost;…;innermost, with the instructions (or --clock ns: nanoseconds) that ran in the "
		"innermost function itself. Together they are all that ran. Flame graphs are made of it.\n"
		"flamegraph: such a graph (SVG), for any browser.\n"
		"callgrind: for KCachegrind and callgrind_annotate: instructions and time, who called whom. Of a recursion, the outermost call counts.\n"
		"pprof: for pprof and what reads its files: calls, instructions, time.\n"
		"gprof: text in its manner: the flat profile and the call graph.\n"
		"Rows, likewise:\n"
		"kfi: a log of KFI has a row for each call of a function of the kernel and its modules, with the times of its entry and from entry to "
		"exit in microseconds. A call that did not return has -1, and one in an interrupt an i behind its PID. kd and upto-kd(1) read it.\n"
		"csv: a row for each call, as it ends: start, duration, whose it is, depth, function, caller, what the thread itself ran in it, and how "
		"it ended. One that did not end has no duration.\n"
		"With --max-size, calls that are too short, then those that are too deep, or paths with too little, are left out until it fits; what ran in them is their callers'. "
		"What viewers in a browser open well is below 200 MB; 50 to 100 MB for firefox, speedscope and chrome.\n" SELECT_NOTE,
	.examples =
		"  upto export trace.upto --to perfetto --max-size 200M -o boot.pftrace\n      the boot, to be dropped into ui.perfetto.dev\n"
		"  upto export trace.upto --to flamegraph --by process -o boot.svg\n      a flame graph with a tower for each process\n"
		"  upto export trace.upto --to speedscope --from exec:sshd --pid sshd -o sshd.json\n      what sshd did, for speedscope.app\n"
		"  upto export trace.upto --to kfi --min-duration 500us -o boot.lst\n      the calls that took long, for kd\n"
		"  upto export trace.upto --to csv --pid 1 --functions do_sys_openat2\n      each file that init opens, for a spreadsheet\n",
	.options = options,
	.reads_all = true,
	.for_programs = true,
	.needs = "stacks",
	.min_operands = 1,
	.max_operands = 1,
	.prepare = prepare,
	.run = run,
};
