/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/calls/deepest.h"
#include "arch/arch.h"
#include "base/alloc.h"
#include "cli/args/debug_arg.h"
#include "cli/args/moment_arg.h"
#include "cli/args/trace_arg.h"
#include "cli/commands.h"
#include "cli/print/empty.h"
#include "cli/print/json.h"
#include "cli/print/quantity.h"
#include "cli/print/terminal.h"
#include "replay/stacks.h"

static const struct thread *thread_of(const struct stacks *s, const struct stack *stack)
{
	static const struct thread before_threads = { .comm = "[boot]", .exe = "" };

	return stack->thread == THREAD_NONE ? &before_threads : &s->threads->list[stack->thread];
}

/*
 * Where control is in a frame: the address that its callee will return to. For the innermost frame: where control went
 * last. 0: it has left for a tail call.
 */
static uint64_t place_in(const struct stack *stack, size_t i)
{
	if (i + 1 == stack->depth)
		return stack->place;
	return stack->frames[i + 1].kind == FRAME_TAIL ? 0 : stack->frames[i + 1].from;
}

static void put_place(const struct names *names, const struct stack *stack, size_t i, uint64_t ns, uint32_t version,
		      struct buf *out)
{
	const struct frame *f = &stack->frames[i];
	uint64_t place = place_in(stack, i);
	struct buf name = { 0 };

	/* in a thunk, which is its caller's */
	if (!place || names_is_thunk(names, names_place(names, place, ns, version).function))
		buf_printf(&name, "%s", names_function(names, f->function));
	else if (f->function >= names->groups)
		buf_printf(&name, "0x%" PRIx64 " %s", place, names_function(names, f->function));
	else if (i + 1 < stack->depth && stack->frames[i + 1].kind == FRAME_CALL)
		names_return_address(names, place, ns, version, &name);
	else
		names_address(names, place, ns, version, &name);
	buf_put_u8(&name, 0);
	terminal_escape(out, (char *)name.data);
	buf_free(&name);
}

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

/* The source lines of frame `i`. Those of functions that were inlined there come first. */
static size_t lines_of(const struct source_lines *sources, const struct stacks *s, const struct stack *stack, size_t i,
		       uint32_t version, struct source_line *ret)
{
	uint64_t place = place_in(stack, i);

	if (i + 1 < stack->depth)
		place = frame_call_place(stack->frames[i + 1].kind, place);
	return source_lines_at(sources, s->names, place, s->ns, version, ret);
}

static void put_inlined(struct buf *out, const struct source_line *lines, size_t n)
{
	for (size_t k = 0; k < n && lines[k].inlined; k++) {
		buf_printf(out, "    ");
		terminal_escape(out, lines[k].function ? lines[k].function : "?");
		buf_printf(out, " (inlined)");
		debug_put(out, &lines[k]);
		buf_put_u8(out, '\n');
	}
}

static void print_text(const struct stacks *s, const struct source_lines *sources, const struct stack *stack,
		       size_t columns)
{
	struct source_line lines[SOURCE_LINES_MAX];
	const struct thread *t = thread_of(s, stack);
	struct buf line = { 0 };
	struct space_view view;

	spaces_view(&s->names->spaces, t->task, s->ns, &view);
	buf_printf(&line, "%d ", t->pid);
	terminal_escape(&line, name_of(s, stack));
	if (stack->cpu >= 0)
		buf_printf(&line, " on CPU %d", stack->cpu);
	buf_put_u8(&line, '\n');
	for (size_t i = stack->depth; i-- > 0;) {
		const struct frame *f = &stack->frames[i];
		size_t n = lines_of(sources, s, stack, i, view.version, lines);

		put_inlined(&line, lines, n);
		buf_printf(&line, "    ");
		put_place(s->names, stack, i, s->ns, view.version, &line);
		if (f->kind != FRAME_CALL && f->kind != FRAME_BASE)
			buf_printf(&line, " <%s>", frame_kind_name(f->kind));
		if (n && !lines[n - 1].inlined)
			debug_put(&line, &lines[n - 1]);
		buf_put_u8(&line, '\n');
	}
	buf_put_u8(&line, '\n');
	terminal_print(&line, columns);
	buf_free(&line);
}

static void print_inlined_json(const struct source_line *lines, size_t n, uint64_t address)
{
	for (size_t k = 0; k < n && lines[k].inlined; k++) {
		printf("{\"function\":");
		json_string(stdout, lines[k].function ? lines[k].function : "");
		printf(",\"kind\":\"inlined\",\"address\":");
		json_address(stdout, address);
		debug_print_json(&lines[k]);
		printf("},");
	}
}

static void print_json(const struct stacks *s, const struct source_lines *sources, const struct stack *stack)
{
	const struct thread *t = thread_of(s, stack);
	struct source_line lines[SOURCE_LINES_MAX];
	struct space_view view;

	spaces_view(&s->names->spaces, t->task, s->ns, &view);

	printf("{\"pid\":%d,\"tgid\":%d,\"comm\":", t->pid, t->tgid);
	json_string(stdout, name_of(s, stack));
	if (stack->cpu >= 0)
		printf(",\"cpu\":%d", stack->cpu);
	else
		printf(",\"cpu\":null");
	printf(",\"frames\":[");
	for (size_t i = stack->depth; i-- > 0;) {
		const struct frame *f = &stack->frames[i];
		size_t n = lines_of(sources, s, stack, i, view.version, lines);

		fputs(i + 1 < stack->depth ? "," : "", stdout);
		print_inlined_json(lines, n, place_in(stack, i));
		printf("{\"function\":");
		json_string(stdout, names_function(s->names, f->function));
		printf(",\"kind\":\"%s\",\"address\":", frame_kind_name(f->kind));
		if (place_in(stack, i))
			json_address(stdout, place_in(stack, i));
		else
			printf("null");
		printf(",\"start_ns\":%" PRIu64, f->entry_ns);
		if (n && !lines[n - 1].inlined)
			debug_print_json(&lines[n - 1]);
		putchar('}');
	}
	printf("]}");
}

static const struct stacks *sorting;

/* Running threads come first; then by pid. */
static int in_order(const void *va, const void *vb)
{
	const struct stack *a = &sorting->list[*(const size_t *)va], *b = &sorting->list[*(const size_t *)vb];
	unsigned cpu_a = (unsigned)a->cpu, cpu_b = (unsigned)b->cpu;
	int pid_a = thread_of(sorting, a)->pid, pid_b = thread_of(sorting, b)->pid;

	if (cpu_a != cpu_b)
		return cpu_a < cpu_b ? -1 : 1;
	if (pid_a != pid_b)
		return pid_a < pid_b ? -1 : 1;
	return a < b ? -1 : a > b;
}

static bool is_asked(const struct stack *stack, const bool *asked, bool running)
{
	if (!stack->depth || (running && stack->cpu < 0))
		return false;
	return !asked || (stack->thread != THREAD_NONE && asked[stack->thread]);
}

static void print_deepest(const struct args *args, const struct trace_arg *t, const struct deepest *d)
{
	uint64_t of = t->reader->arch->kernel_stack;

	if (arg(args, "json"))
		printf("\"deepest\":{\"frames\":%zu,\"bytes\":%" PRIu64 ",\"of_bytes\":%" PRIu64 ",\"ns\":%" PRIu64
		       "},",
		       d->frames, d->bytes, of, d->ns);
	else
		printf("# deepest kernel stack: %zu frames, %" PRIu64 " of %" PRIu64 " bytes, at %" PRIu64 ".%09" PRIu64
		       " s\n",
		       d->frames, d->bytes, of, d->ns / 1000000000, d->ns % 1000000000);
}

/* `deepest`: only that stack; NULL: all. */
static void show(const struct args *args, const struct trace_arg *t, const struct stacks *s,
		 const struct source_lines *sources, const struct deepest *deepest)
{
	size_t *order = xcalloc(s->count, sizeof *order), n = 0;

	for (size_t i = 0; i < s->count; i++)
		if (deepest ? i == deepest->stack && deepest->frames :
			      is_asked(&s->list[i], t->asked_threads, arg(args, "running")))
			order[n++] = i;
	sorting = s;
	qsort(order, n, sizeof *order, in_order);
	terminal_end_progress();
	if (arg(args, "json"))
		putchar('{');
	else
		terminal_start_pager();
	if (deepest && deepest->frames)
		print_deepest(args, t, deepest);
	if (arg(args, "json"))
		printf("\"stacks\":[");
	for (size_t i = 0; i < n; i++) {
		if (arg(args, "json")) {
			fputs(i ? ",\n" : "\n", stdout);
			print_json(s, sources, &s->list[order[i]]);
		} else {
			print_text(s, sources, &s->list[order[i]], arg(args, "wide") ? 0 : terminal_columns());
		}
	}
	if (arg(args, "json"))
		puts("\n]}");
	if (!n)
		empty_say(args, t, "stacks");
	free(order);
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

/* Where control is in a call that is not shown, or was called from, is no place in the function that is. */
static void forget_folded_places(struct stacks *s)
{
	for (size_t i = 0; i < s->count; i++) {
		struct stack *stack = &s->list[i];
		struct space_view view = { 0 };

		if (stack->thread != THREAD_NONE)
			spaces_view(&s->names->spaces, s->threads->list[stack->thread].task, s->ns, &view);
		for (size_t k = 0; k < stack->depth; k++) {
			bool top = k + 1 == stack->depth;
			uint64_t *place = top ? &stack->place : &stack->frames[k + 1].from;
			uint64_t at = top ? *place : frame_call_place(stack->frames[k + 1].kind, *place);

			if (at && names_place(s->names, at, s->ns, view.version).function != stack->frames[k].function)
				*place = 0;
		}
	}
}

static int run(const struct args *args, struct error *err)
{
	uint64_t at = UINT64_MAX;
	struct deepest found, *deepest = NULL;
	struct source_lines sources;
	struct stacks stacks;
	struct trace_arg t;
	int r = EXIT_FAILED;

	if (arg_time(args, "at", &at, err) < 0)
		return EXIT_USAGE;
	if (arg(args, "deepest") && (arg(args, "at") || arg(args, "running")))
		return error_set(err, "--deepest goes without --at and --running"), EXIT_USAGE;
	if (trace_arg_open(args, &t, err) < 0)
		return EXIT_FAILED;
	if (!arg(args, "at") && !arg(args, "deepest") && moment_trigger(&t, &at))
		fprintf(stderr,
			"upto: %s: stacks are those of the flight recorder's trigger, at %" PRIu64 ".%06" PRIu64
			" s; --at end: those of the end\n",
			args->operands[0], at / 1000000000, at % 1000000000 / 1000);
	thunks_arg(args, &t);
	/* what uses most of a stack may be an instrument */
	if (!arg(args, "deepest"))
		instruments_arg(args, &t);
	if (debug_arg(args, &t.names, &sources, err) < 0) {
		source_lines_deinit(&sources);
		trace_arg_close(&t);
		return EXIT_FAILED;
	}
	if (arg(args, "deepest")) {
		deepest = &found;
		if (deepest_analyse(&t.session, t.asked_threads, deepest, err) < 0)
			goto out;
		at = found.ns;
	}
	if (replay(&t, deepest, at, &stacks, err) == 0) {
		if (t.session.fold)
			forget_folded_places(&stacks);
		show(args, &t, &stacks, &sources, deepest);
		r = EXIT_OK;
	}
	stacks_deinit(&stacks);
out:
	source_lines_deinit(&sources);
	trace_arg_close(&t);
	return r;
}

static const struct option options[] = {
	{ 0, "at", "TIME", "guest time: 1.5s; " MOMENT_NAMES " (default: the end)" },
	{ 'p', "pid", "PID", "only this thread, or those of that name" },
	{ 0, "deepest", NULL, "when a kernel stack was used farthest down: that stack, then" },
	{ 0, "running", NULL, "only threads that a vCPU runs" },
	THUNKS_OPTION,
	INSTRUMENTS_OPTION,
	DEBUG_OPTION,
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
	{ "function", "name" },
	{ "kind",
	  "call, interrupt, syscall or signal: what the function was entered by; tail: its caller ended in a jump there, and has no address; inlined, with --debug" },
	{ "address", "where in the function it is: where what it called will return to; a string" },
	{ "start_ns", "guest time when it was entered" },
	{ "file, line", "with --debug: the source line of that place" },
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
