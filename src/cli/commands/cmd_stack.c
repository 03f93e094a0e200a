/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/calls/deepest.h"
#include "arch/arch.h"
#include "base/alloc.h"
#include "cli/args/debug_arg.h"
#include "cli/args/moment_arg.h"
#include "cli/args/select_arg.h"
#include "cli/args/trace_arg.h"
#include "cli/args/trace_has.h"
#include "cli/args/values_arg.h"
#include "cli/commands.h"
#include "cli/print/empty.h"
#include "cli/print/frames.h"
#include "cli/print/json_output.h"
#include "cli/print/left_out_note.h"
#include "cli/print/quantity.h"
#include "cli/print/terminal.h"
#include "replay/stacks.h"
#include "trace/thinned.h"

/* Its name at that time. A thread of what is no Linux has none but its stack's; the next one's takes its place. */
static const char *name_of(const struct stacks *s, const struct stack *stack)
{
	static char text[32];

	if (stack->thread == THREAD_NONE && stack->depth && stack->frames[0].kind == FRAME_BASE &&
	    stack->frames[0].slot) {
		snprintf(text, sizeof text, "[stack 0x%" PRIx64 "]", stack->frames[0].slot);
		return text;
	}
	return stack->thread == THREAD_NONE ? "[boot]"
					    : threads_comm(s->threads, &s->threads->list[stack->thread], s->ns);
}

static void print_text(const struct stacks *s, const struct frame_sources *sources, const struct stack *stack,
		       size_t columns)
{
	struct buf line = { 0 };

	buf_printf(&line, "%d ", frames_thread(s->threads, stack)->pid);
	terminal_escape(&line, name_of(s, stack));
	if (stack->cpu >= 0)
		buf_printf(&line, " on CPU %d", stack->cpu);
	buf_put_u8(&line, '\n');
	frames_put(&line, s, sources, stack, s->ns);
	buf_put_u8(&line, '\n');
	terminal_print(&line, columns);
	buf_free(&line);
}

static void put_json(struct json *j, const struct stacks *s, const struct frame_sources *sources,
		     const struct stack *stack)
{
	const struct thread *t = frames_thread(s->threads, stack);

	json_object(j, NULL);
	json_signed(j, "pid", t->pid);
	json_signed(j, "tgid", t->tgid);
	json_text(j, "comm", name_of(s, stack));
	if (stack->cpu >= 0)
		json_signed(j, "cpu", stack->cpu);
	else
		json_null(j, "cpu");
	frames_put_json(j, s, sources, stack, s->ns);
	json_close(j);
}

static const struct stacks *sorting;

/* Running threads come first; then by pid. */
static int in_order(const void *va, const void *vb)
{
	const struct stack *a = &sorting->list[*(const size_t *)va], *b = &sorting->list[*(const size_t *)vb];
	unsigned cpu_a = (unsigned)a->cpu, cpu_b = (unsigned)b->cpu;
	int pid_a = frames_thread(sorting->threads, a)->pid, pid_b = frames_thread(sorting->threads, b)->pid;

	if (cpu_a != cpu_b)
		return cpu_a < cpu_b ? -1 : 1;
	if (pid_a != pid_b)
		return pid_a < pid_b ? -1 : 1;
	return a < b ? -1 : a > b;
}

static bool is_asked(const struct stacks *s, const struct stack *stack, const bool *asked, bool running)
{
	if (!stack->depth || (running && stack->cpu < 0) || !threads_is_chosen(s->threads, stack->thread))
		return false;
	return !asked || (stack->thread != THREAD_NONE && asked[stack->thread]);
}

static void print_deepest(const struct trace_arg *t, const struct deepest *d)
{
	printf("# deepest kernel stack: %zu frames, %" PRIu64 " of %" PRIu64 " bytes, at %" PRIu64 ".%09" PRIu64 " s\n",
	       d->frames, d->bytes, t->reader->kernel_stack, d->ns / 1000000000, d->ns % 1000000000);
}

static void put_deepest_json(struct json *j, const struct trace_arg *t, const struct deepest *d)
{
	json_object(j, "deepest");
	json_number(j, "frames", d->frames);
	json_number(j, "bytes", d->bytes);
	json_number(j, "of_bytes", t->reader->kernel_stack);
	json_number(j, "ns", d->ns);
	json_close(j);
}

/* Those numbers, in that order. `deepest`: NULL, or what is told of it. */
static void print_json(const struct trace_arg *t, const struct stacks *s, const struct frame_sources *sources,
		       const struct deepest *deepest, const size_t *order, size_t n)
{
	struct json j;

	json_output_begin(&j);
	json_object(&j, NULL);
	if (deepest)
		put_deepest_json(&j, t, deepest);
	json_rows(&j, "stacks");
	for (size_t i = 0; i < n; i++)
		put_json(&j, s, sources, &s->list[order[i]]);
	json_close(&j);
	json_close(&j);
	json_output_end(&j);
}

/* `asked`: marks of threads; NULL: all. `deepest`: only that stack; NULL: all. */
static void show(const struct args *args, const struct trace_arg *t, const struct stacks *s, const bool *asked,
		 const struct frame_sources *sources, const struct deepest *deepest)
{
	size_t *order = xcalloc(s->count, sizeof *order), n = 0;

	for (size_t i = 0; i < s->count; i++)
		if (deepest ? i == deepest->stack && deepest->frames :
			      is_asked(s, &s->list[i], asked, arg(args, "running")))
			order[n++] = i;
	sorting = s;
	qsort(order, n, sizeof *order, in_order);
	terminal_end_progress();
	if (deepest && !deepest->frames)
		deepest = NULL;
	if (arg(args, "json")) {
		print_json(t, s, sources, deepest, order, n);
	} else {
		terminal_start_pager();
		if (deepest)
			print_deepest(t, deepest);
		for (size_t i = 0; i < n; i++)
			print_text(s, sources, &s->list[order[i]], arg(args, "wide") ? 0 : terminal_columns());
	}
	if (!n)
		empty_say(args, t, "stacks");
	free(order);
}

/* Between what is recorded, nothing is known but what was before. */
static void say_unrecorded(const struct trace_arg *t, uint64_t at)
{
	struct kept_span *spans;
	size_t n = thinned_spans(&t->reader->meta, &spans), before = 0;

	while (before < n && spans[before].start_ns <= at)
		before++;
	if (n && !before)
		fprintf(stderr, "upto: %s: nothing is recorded before %" PRIu64 ".%09" PRIu64 " s\n", t->reader->path,
			spans[0].start_ns / 1000000000, spans[0].start_ns % 1000000000);
	else if (before < n && at > spans[before - 1].stop_ns)
		fprintf(stderr,
			"upto: %s: was not recorded at %" PRIu64 ".%09" PRIu64 " s: stacks are those of %" PRIu64
			".%09" PRIu64 " s, where what is recorded before that ends\n",
			t->reader->path, at / 1000000000, at % 1000000000, spans[before - 1].stop_ns / 1000000000,
			spans[before - 1].stop_ns % 1000000000);
	free(spans);
}

/* Replay up to the moment that is asked for. Call stacks_deinit() also after an error. */
static int replay(struct trace_arg *t, struct deepest *deepest, uint64_t at, struct stacks *ret, struct error *err)
{
	static const struct stacks_visitor none = { 0 };
	struct checkpoint from;
	struct index *index;
	bool begun;

	trace_arg_index(t);
	index = t->session.index;
	begun = index && index_checkpoint(index, index_at(index, at), &from);
	return stacks_replay(ret, &t->session, begun ? &from : NULL, deepest ? UINT64_MAX : at,
			     deepest ? &deepest_reach : &none, deepest, err);
}

/*
 * "7.137560s": six digits behind the point are how moments are printed, without the rest of the microsecond. What was
 * printed so happened within it.
 */
static bool is_printed_moment(const char *text)
{
	const char *point = strchr(text, '.');

	return point && strspn(point + 1, "0123456789") == 6 && (!point[7] || !strcmp(point + 7, "s"));
}

static int run(const struct args *args, struct error *err)
{
	uint64_t at = UINT64_MAX;
	struct deepest found, *deepest = NULL;
	struct source_lines lines = { 0 };
	struct call_values values = { 0 };
	struct frame_sources sources = { .lines = &lines };
	struct stacks stacks;
	struct trace_arg t;
	bool *asked = NULL;
	int r = EXIT_FAILED;

	if (arg_time(args, "at", &at, err) < 0)
		return EXIT_USAGE;
	if (arg(args, "at") && is_printed_moment(arg(args, "at")))
		at += 1000;
	if (arg(args, "deepest") && (arg(args, "at") || arg(args, "boot") || arg(args, "running") || arg(args, "fold")))
		return error_set(err, "--deepest goes without --at, --boot, --running and --fold"), EXIT_USAGE;
	if (trace_arg_open(args, &t, err) < 0)
		return EXIT_FAILED;
	if (!arg(args, "at") && !arg(args, "deepest") && moment_trigger(&t, &at))
		fprintf(stderr,
			"upto: %s: stacks are those of the flight recorder's trigger, at %" PRIu64 ".%06" PRIu64
			" s; --at end: those of the end\n",
			args->operands[0], at / 1000000000, at % 1000000000 / 1000);
	else if (arg(args, "at"))
		say_unrecorded(&t, at);
	left_out_warn(args, &t, "stacks have only those that were kept");
	thunks_arg(args, &t);
	/* what uses most of a stack may be an instrument */
	if (!arg(args, "deepest") && instruments_arg(args, &t, err) < 0)
		goto out;
	if (debug_arg(args, &t.names, &lines, err) < 0 || args_arg(args, &t, &values, &sources.values, err) < 0)
		goto out;
	asked = trace_chosen_threads(args, &t);
	if (arg(args, "deepest")) {
		deepest = &found;
		if (deepest_analyse(&t.session, asked, deepest, err) < 0)
			goto out;
		at = found.ns;
	}
	if (replay(&t, deepest, at, &stacks, err) == 0) {
		for (size_t i = 0; t.session.fold && i < stacks.count; i++)
			frames_forget_folded_places(&stacks, &stacks.list[i], stacks.ns);
		show(args, &t, &stacks, asked, &sources, deepest);
		r = EXIT_OK;
	}
	stacks_deinit(&stacks);
out:
	free(asked);
	call_values_deinit(&values);
	source_lines_deinit(&lines);
	trace_arg_close(&t);
	return r;
}

static const struct option options[] = {
	{ 0, "at", "TIME", "guest time: 1.5s; " MOMENT_NAMES " (default: the end)" },
	BOOT_OPTION,
	{ 'p', "pid", "PID", "only this thread, or those of that name" },
	SELECT_ROWS_COMM,
	{ 0, "deepest", NULL, "when a kernel stack was used farthest down: that stack, then" },
	{ 0, "running", NULL, "only threads that a vCPU runs" },
	THUNKS_OPTION,
	INSTRUMENTS_OPTION,
	DEBUG_OPTION,
	ARGS_OPTION,
	{ 0, "wide", NULL, "do not cut what is wider than the terminal" },
	{ 0, "json", NULL, "print JSON" },
	HELP_OPTION,
	{ 0 },
};

static const struct term terms[] = {
	{ "deepest", "with --deepest: frames, of how many bytes of the stack, and guest time" },
	{ "pid, tgid, comm", "the thread, its process, and the thread's name then" },
	{ "cpu", "the vCPU that ran it; null: none did" },
	{ "frames", "its functions, the innermost first" },
	FRAME_TERMS,
	ARGS_TERM,
	{ 0 },
};

static const struct legend legends[] = { { "json", NULL, terms }, { 0 } };

const struct command cmd_stack = {
	.name = "stack",
	.operands = "TRACE",
	.summary = "what was every CPU and every thread doing at a moment?",
	.description =
		"Prints whole call stacks, the innermost function first: those of the threads that ran on each vCPU at that time, "
		"then those of all other threads, as they were when they were switched out.\n"
		"A time with six digits behind the point, as other commands print it, is behind all of that microsecond: what was printed has begun.\n"
		"<interrupt> and <syscall> mark where the kernel was entered, and <signal> where a signal's handler was.\n"
		"--deepest finds the moment at which a task's kernel stack was used farthest down, and prints that stack.\n"
		"With --debug, each function in these files has its source line, and functions that were inlined "
		"there have lines of their own. upto finds out by the functions which code a file belongs to. The "
		"debug file of a stripped file is looked for by its build-id, below /usr/lib/debug and "
		"at the servers of DEBUGINFOD_URLS.\n" THUNKS_NOTE INSTRUMENTS_NOTE INDEX_NOTE,
	.examples = "  upto stack --at 2.5s trace.upto\n      everybody, two and a half seconds in\n"
		    "  upto stack --at 2.5s --running trace.upto\n      only what ran\n"
		    "  upto stack --at 2.5s --debug vmlinux:ext4.ko trace.upto\n      with source lines\n"
		    "  upto stack --deepest trace.upto\n      how much of a kernel stack was needed, and what for\n"
		    "  upto stack --pid 1 trace.upto\n      what init was doing at the end\n",
	.needs = "stacks",
	.options = options,
	.legends = legends,
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
