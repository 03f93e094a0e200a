/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/args/trace_arg.h"
#include "cli/child.h"
#include "cli/commands.h"
#include "cli/print/output_file.h"
#include "cli/print/quantity.h"
#include "cli/print/see.h"
#include "cli/print/trace_output.h"
#include "host/host_pages.h"
#include "host/host_tasks.h"
#include "host_boot_args.h"
#include "host_choice.h"

enum { QUICK_LEVEL = 3, LOOK_NS = 100000000 };

struct host_output {
	struct graph_reader *reader;
	const struct graph_part *part;
	const char *path;
	struct graph_trace_counts counts;
};

static int fill(void *context, const struct builder_sink *sink, struct error *err)
{
	struct host_output *o = context;

	return graph_trace_write(o->reader, "the kernel's function_graph, by upto host", o->path, o->part, sink, &o->counts,
				 err);
}

static void say(const struct graph_trace_counts *c, const char *path)
{
	cleanup_free char *next = see_path_text(path);
	struct buf line = { 0 };

	put_amount(&line, c->calls, false);
	buf_printf(&line, " calls of ");
	put_amount(&line, c->threads, false);
	buf_printf(&line, " threads");
	if (c->by_ends)
		buf_printf(&line, ", those that took long enough");
	if (c->gaps) {
		buf_printf(&line, "; ");
		put_amount(&line, c->lost, false);
		buf_printf(&line, " events lost in ");
		put_amount(&line, c->gaps, false);
		buf_printf(&line, " gaps: --functions with fewer, or a larger --buffer, loses less");
	}
	fprintf(stderr, "upto: %s: %.*s\nnext: upto top %s | upto tree %s | upto ps %s\n", path, (int)line.len,
		(char *)line.data, next, next, next);
	buf_free(&line);
}

static const char *output_of(const struct args *args)
{
	return arg(args, "output") ? arg(args, "output") : "trace.upto";
}

/* When the last of what was recorded was. 0: there is nothing. */
static uint64_t last_ns(struct host_pages *pages)
{
	struct error ignored;
	struct graph_reader *reader = host_pages_read(pages, &ignored);
	struct graph_record r;
	const char *text;
	uint64_t last = 0;

	while (reader && graph_reader_next(reader, &r, &text, &ignored) > 0)
		if (r.ns > last)
			last = r.ns;
	graph_reader_free(reader);
	return last;
}

static int write_trace(const struct args *args, struct host_pages *pages, const struct graph_part *part,
		       struct error *err)
{
	struct host_output o = { .reader = host_pages_read(pages, err), .part = part, .path = output_of(args) };
	int r;

	if (!o.reader)
		return -1;
	r = trace_output_write(o.path, arg(args, "force"), QUICK_LEVEL, fill, &o, err);
	graph_reader_free(o.reader);
	if (r == 0)
		say(&o.counts, o.path);
	return r;
}

static volatile sig_atomic_t ended;

static void end(int sig)
{
	(void)sig;
	ended = 1;
}

static void on_signals(void (*handler)(int sig))
{
	/* also what upto itself may be sent for a pipe that nobody reads, or a file that is too long */
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXFSZ };
	const struct sigaction act = { .sa_handler = handler };

	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		sigaction(signals[i], &act, NULL);
}

/* Begins and ends by the clock, while something else is waited for. */
struct timing {
	const struct host_choice *choice;
	struct host_tracing *tracing;
	pthread_t thread;
	bool runs;         /* the thread is there */
	bool leaves, over; /* it is to end; it has ended the recording */
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void *go_by_clock(void *data)
{
	const struct timespec little = { .tv_nsec = 1000000 };
	struct timing *t = data;
	uint64_t began = now_ns(), ns = 0;
	bool on = !t->choice->start_ns;

	while (!__atomic_load_n(&t->leaves, __ATOMIC_RELAXED) && ns < t->choice->stop_ns) {
		ns = now_ns() - began;
		if (!on && ns >= t->choice->start_ns) {
			host_tracing_go(t->tracing);
			on = true;
		}
		nanosleep(&little, NULL);
	}
	if (ns >= t->choice->stop_ns) {
		host_tracing_stop(t->tracing);
		__atomic_store_n(&t->over, true, __ATOMIC_RELAXED);
	}
	return data;
}

static void timing_begin(struct timing *t)
{
	if (t->choice->start_ns || t->choice->stop_ns != UINT64_MAX)
		t->runs = !pthread_create(&t->thread, NULL, go_by_clock, t);
}

static void timing_end(struct timing *t)
{
	__atomic_store_n(&t->leaves, true, __ATOMIC_RELAXED);
	if (t->runs)
		pthread_join(t->thread, NULL);
}

/* Has what it was to stop at come? `pages` NULL: they are taken at the end. */
static bool is_over(const struct timing *t, const struct host_pages *pages)
{
	return __atomic_load_n(&t->over, __ATOMIC_RELAXED) || (pages && host_pages_are_full(pages)) ||
	       (t->choice->options.stop_entry && host_tracing_ended_itself(t->tracing));
}

/* The kernel tells nobody of these moments. */
static bool ends_when_read(const struct host_choice *c)
{
	return (c->part.stop_exit || c->part.max_calls) && !c->options.stop_entry && c->stop_ns == UINT64_MAX;
}

/* Up to the command's end; or, without one, up to Ctrl-C, or to where it is to stop. Returns the exit status. */
static int wait_for_end(const struct args *args, const struct timing *t, const struct host_pages *pages,
			struct error *err)
{
	const struct timespec little = { .tv_nsec = LOOK_NS };
	int status;

	if (args->rest && args->rest[0] && !ended) {
		status = child_run(args->rest, err);
		return status < 0 ? -1 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
	if (!ended)
		fprintf(stderr, "upto: %s this kernel; %sCtrl-C ends it\n",
			host_choice_waits(t->choice) ? "waiting to record" : "recording",
			ends_when_read(t->choice) ? "where it is to stop is found when it is written: " : "");
	while (!ended && !is_over(t, pages))
		nanosleep(&little, NULL);
	return 0;
}

/* Only the last of it, if that was asked for. */
static int write_choice(const struct args *args, struct host_choice *choice, struct host_pages *pages,
			struct error *err)
{
	uint64_t last = choice->before_ns ? last_ns(pages) : 0;

	if (last > choice->before_ns)
		choice->part.from_ns = last - choice->before_ns;
	return write_trace(args, pages, &choice->part, err);
}

/* Before anything is taken that is there once only. */
static int check_output(const struct args *args, struct error *err)
{
	const char *path = output_of(args), *slash = strrchr(path, '/');
	cleanup_free char *folder = slash ? xstrndup(path, (size_t)(slash - path) + 1) : xstrdup(".");

	if (output_file_check(path, OUTPUT_TRACE, arg(args, "force"), NULL, err) < 0)
		return -1;
	return access(folder, W_OK | X_OK) < 0 ? error_set(err, "%s: %s", folder, strerror(errno)) : 0;
}

/*
 * All pages are there, or there will be no more: the tracer is as it was found before anything else is done, and then
 * they are written, which is as whole as it can be where there was no room for all of them (*err).
 */
static int end_recording(const struct args *args, struct host_choice *choice, struct host_tracing *tracing,
			 struct host_pages *pages, bool writes, struct error *err)
{
	struct error other;
	int r = -1, whole = pages ? host_pages_stop(pages, err) : -1;

	host_tracing_free(tracing);
	if (!pages)
		return -1;
	if (writes)
		r = write_choice(args, choice, pages, whole < 0 ? &other : err);
	if (writes && r < 0 && whole < 0)
		*err = other;
	host_pages_free(pages);
	return r < 0 || whole < 0 ? -1 : 0;
}

static int record_choice(const struct args *args, struct host_choice *choice, struct error *err)
{
	struct timing timing = { .choice = choice };
	struct host_tracing *tracing;
	struct host_pages *pages = NULL;
	struct buf tasks = { 0 };
	int status = -1;

	if (check_output(args, err) < 0)
		return -1;
	if (!choice->before_ns)
		host_tasks_read(true, &tasks);
	/* it takes a while to set up the tracer, which is to be left as it was found */
	on_signals(end);
	tracing = timing.tracing = host_tracing_new(&choice->options, !choice->start_ns, err);
	if (!tracing) {
		buf_free(&tasks);
		return -1;
	}
	if (host_tracing_was_left(tracing))
		fprintf(stderr, "upto: a recording that was killed had left the kernel's tracer set: that is put back\n");
	choice->part.monotonic = host_tracing_is_monotonic(tracing);
	/* of what only the end is wanted, the buffers forget the begin by themselves */
	if (!choice->before_ns)
		pages = host_pages_start(host_tracing_folder(tracing), &tasks, err);
	if (pages || choice->before_ns) {
		timing_begin(&timing);
		status = wait_for_end(args, &timing, pages, err);
		timing_end(&timing);
		host_tracing_stop(tracing);
	}
	/* what was recorded is written, however often one asks for the end */
	on_signals(SIG_IGN);
	if (!pages && status >= 0) {
		host_tasks_read(false, &tasks);
		pages = host_pages_start(host_tracing_folder(tracing), &tasks, err);
	}
	if (end_recording(args, choice, tracing, pages, status >= 0, err) < 0)
		status = -1;
	buf_free(&tasks);
	return status;
}

static int record(const struct args *args, struct error *err)
{
	struct host_choice choice;
	int status = host_choice_arg(args, &choice, err) < 0 ? -EXIT_USAGE : record_choice(args, &choice, err);

	host_choice_deinit(&choice);
	return status == -EXIT_USAGE ? EXIT_USAGE : status < 0 ? EXIT_FAILED : status;
}

/* What a tracer that runs already has in its buffers. */
static int read_choice(const struct args *args, struct host_choice *choice, struct error *err)
{
	struct host_tracing *tracing;
	struct host_pages *pages;
	struct buf tasks = { 0 };
	int r;

	if (check_output(args, err) < 0)
		return -1;
	on_signals(end);
	tracing = host_tracing_found(err);
	if (!tracing)
		return -1;
	host_tasks_read(false, &tasks);
	/* the kernel that booted has begun at once, and has not ended by itself */
	choice->part.start_entry = choice->options.start_entry;
	choice->part.stop_entry = choice->options.stop_entry;
	/* what is taken from here on is nowhere else */
	on_signals(SIG_IGN);
	if (ended)
		error_set(err, "ended by a signal, before anything was read");
	pages = ended ? NULL : host_pages_start(host_tracing_folder(tracing), &tasks, err);
	r = end_recording(args, choice, tracing, pages, true, err);
	buf_free(&tasks);
	return r;
}

static int read_buffers(const struct args *args, struct error *err)
{
	struct host_choice choice;
	int r = host_choice_arg(args, &choice, err);

	if (r == 0 && (choice.start_ns || choice.stop_ns != UINT64_MAX))
		r = error_set(err, "--start, --stop: what is in the buffers has no time:TIME, nor 'trigger … time' of a "
				   "configuration; functions are there, and commands take --from and --to of the trace");
	r = r < 0 ? -EXIT_USAGE : read_choice(args, &choice, err);

	host_choice_deinit(&choice);
	return r < 0 ? -r : EXIT_OK;
}

static int print_boot_args(const struct args *args, struct error *err)
{
	struct host_choice choice;
	int r = host_choice_arg(args, &choice, err);

	if (r == 0 && arg(args, "bootconfig"))
		r = host_boot_args_print_config(&choice, err);
	else if (r == 0)
		host_boot_args_print(&choice);
	host_choice_deinit(&choice);
	return r < 0 ? EXIT_USAGE : EXIT_OK;
}

/* Options that this verb would not heed. */
static int check_options(const struct args *args, const char *verb, struct error *err)
{
	static const struct { const char *option, *verbs; } takes[] = {
		{ "output", "record, read" },         { "force", "record, read" },    { "before", "record, read" },
		{ "functions", "record, boot-args" }, { "not", "record, boot-args" }, { "below", "record, boot-args" },
		{ "depth", "record, boot-args" },     { "pid", "record" },            { "buffer", "record, boot-args" },
		{ "bootconfig", "boot-args" },
	};

	for (size_t i = 0; i < sizeof takes / sizeof *takes; i++)
		if (arg(args, takes[i].option) && !strstr(takes[i].verbs, verb))
			return error_set(err, "--%s: is for %s", takes[i].option, takes[i].verbs);
	return args->rest && strcmp(verb, "record") ? error_set(err, "-- COMMAND: is for record") : 0;
}

static int run(const struct args *args, struct error *err)
{
	static const struct { const char *verb; int (*run)(const struct args *args, struct error *err); } verbs[] = {
		{ "record", record }, { "read", read_buffers }, { "boot-args", print_boot_args },
	};

	for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
		if (!strcmp(args->operands[0], verbs[i].verb))
			return check_options(args, verbs[i].verb, err) < 0 ? EXIT_USAGE : verbs[i].run(args, err);
	error_set(err, "%s: record, read or boot-args", args->operands[0]);
	return EXIT_USAGE;
}

static const struct option options[] = {
	{ 'o', "output", "TRACE", "the trace (default: trace.upto)" },
	FORCE_OPTION("trace"),
	{ 'F', "functions", "NAMES", "only these functions, patterns with * too, with commas between" },
	{ 0, "not", "NAMES", "not these" },
	{ 0, "below", "NAMES", "only what these call" },
	{ 0, "depth", "N", "only calls with fewer than N others around them" },
	{ 0, "min-duration", "TIME", "only calls that took so long: 500us; all else costs little then" },
	{ 'p', "pid", "PID", "only that process, all its threads, and what they start" },
	{ 0, "start", "COND", "record from there on: entry:FUNCTION, exit:FUNCTION, time:TIME" },
	{ 0, "stop", "COND", "only up to there: likewise; without a command, the end (exit:FUNCTION is found as it is written)" },
	{ 0, "before", "TIME", "only so long before the end: the buffers forget what is older" },
	{ 0, "kfi", "FILE", "a run as KFI's configurations describe it: triggers, filter mintime and funclist, logentries" },
	{ 0, "buffer", "KIB", "of each CPU (default: 16384)" },
	{ 0, "bootconfig", NULL, "boot-args: a bootconfig instead, where functions can begin and end it" },
	HELP_OPTION,
	{ 0 },
};

const struct command cmd_host = {
	.name = "host",
	.operands = "record [-- COMMAND…] | read | boot-args",
	.summary = "record the kernel that runs here, by its own function_graph",
	.description =
		"'upto host record' has the kernel's own tracer record every call of the kernel's functions, while the command runs or up to Ctrl-C, and makes a "
		"trace that all commands read. The kernel need not be prepared; it must have CONFIG_FUNCTION_GRAPH_TRACER, as distributions' have, and it takes root. "
		"Options are the tracer's own filters, so that what is left out costs next to nothing. A traced kernel is slow: eight times, where all its "
		"functions are. What is lost since a buffer is full is counted, and is a gap.\n"
		"The tracer is an instance of its own where the kernel has that (since 6.11), else the one that all share; it is left as it was found. One that "
		"was killed with SIGKILL leaves it set, and a note in /run, by which the next one puts all back first, and says so.\n"
		"'upto host boot-args' prints the words for a kernel's command line with which it records its boot; 'upto host read' makes a trace of what is in the "
		"buffers then. With --bootconfig it is a file for the initramfs, for kernels with CONFIG_BOOT_CONFIG: there, --start and --stop are probes of the "
		"kernel's own, which turn the tracer on and off.\n"
		"Times are the clock's. Instructions, user functions and interrupts as such are not there, and system calls only without --min-duration: commands that need them say so.\n",
	.examples = "  upto host record -o make.upto -F 'vfs_*,ext4_*' -- make\n      file systems' part in it\n"
		    "  upto host record --below do_sys_openat2 -- ls\n      how a file is opened\n"
		    "  upto host boot-args --min-duration 500us --buffer 32768\n  upto host read -o boot.upto\n      what took long in the boot, of a kernel that nobody patched\n",
	.options = options,
	.rest = true,
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
