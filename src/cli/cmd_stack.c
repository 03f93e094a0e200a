/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "commands.h"
#include "debug_arg.h"
#include "json.h"
#include "replay/stacks.h"
#include "terminal.h"
#include "trace_arg.h"

static const char *kind_name(enum frame_kind kind)
{
	switch (kind) {
	case FRAME_INTERRUPT:
		return "interrupt";
	case FRAME_SYSCALL:
		return "syscall";
	case FRAME_SIGNAL:
		return "signal";
	default:
		return "call";
	}
}

static const struct thread *thread_of(const struct stacks *s, const struct stack *stack)
{
	static const struct thread before_threads = { .comm = "[boot]", .exe = "" };

	return stack->thread == THREAD_NONE ? &before_threads : &s->threads->list[stack->thread];
}

/* Where a frame is: the address that what it called will return to. The innermost: where it was entered or returned to. */
static uint64_t place_in(const struct stack *stack, size_t i)
{
	return i + 1 < stack->depth ? stack->frames[i + 1].from : stack->place;
}

static void put_place(const struct names *names, const struct stack *stack, size_t i, uint64_t ns, uint32_t version,
		      struct buf *out)
{
	const struct frame *f = &stack->frames[i];
	uint64_t place = place_in(stack, i);

	if (f->function >= names->groups) {
		buf_printf(out, "0x%" PRIx64 " %s", place, names_function(names, f->function));
		return;
	}
	if (i + 1 < stack->depth && stack->frames[i + 1].kind == FRAME_CALL)
		names_return_address(names, place, ns, version, out);
	else
		names_address(names, place, ns, version, out);
}

/* Its name at that time. */
static const char *name_of(const struct stacks *s, const struct thread *t)
{
	const struct task_record *then = threads_record(s->threads, t->task, s->ns);

	return then ? then->comm : t->comm;
}

/* Source lines of where frame `i` is; those of functions that were inlined there come first. */
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

static void print_text(const struct stacks *s, const struct source_lines *sources, const struct stack *stack)
{
	struct source_line lines[SOURCE_LINES_MAX];
	const struct thread *t = thread_of(s, stack);
	struct buf line = { 0 };
	struct space_view view;

	spaces_view(&s->names->spaces, t->task, s->ns, &view);
	buf_printf(&line, "%d ", t->pid);
	terminal_escape(&line, name_of(s, t));
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
			buf_printf(&line, " <%s>", kind_name(f->kind));
		if (n && !lines[n - 1].inlined)
			debug_put(&line, &lines[n - 1]);
		buf_put_u8(&line, '\n');
	}
	buf_put_u8(&line, '\n');
	fwrite(line.data, 1, line.len, stdout);
	buf_free(&line);
}

static void print_inlined_json(const struct source_line *lines, size_t n, uint64_t address)
{
	for (size_t k = 0; k < n && lines[k].inlined; k++) {
		printf("{\"function\":");
		json_string(stdout, lines[k].function ? lines[k].function : "");
		printf(",\"kind\":\"inlined\",\"address\":%" PRIu64, address);
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
	json_string(stdout, name_of(s, t));
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
		printf(",\"kind\":\"%s\",\"address\":%" PRIu64 ",\"entry_ns\":%" PRIu64, kind_name(f->kind),
		       place_in(stack, i), f->entry_ns);
		if (n && !lines[n - 1].inlined)
			debug_print_json(&lines[n - 1]);
		putchar('}');
	}
	printf("]}");
}

static const struct stacks *sorting;

/* Those that run come first, then by pid. */
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

static bool is_asked(const struct stacks *s, const struct stack *stack, bool one, uint64_t pid, bool running)
{
	if (!stack->depth || (running && stack->cpu < 0))
		return false;
	return !one || (uint64_t)(int64_t)thread_of(s, stack)->pid == pid;
}

static void show(const struct args *args, const struct stacks *s, const struct source_lines *sources, uint64_t pid)
{
	size_t *order = xcalloc(s->count, sizeof *order), n = 0;

	for (size_t i = 0; i < s->count; i++)
		if (is_asked(s, &s->list[i], arg(args, "pid"), pid, arg(args, "running")))
			order[n++] = i;
	sorting = s;
	qsort(order, n, sizeof *order, in_order);
	terminal_end_progress();
	if (arg(args, "json"))
		printf("{\"stacks\":[");
	else
		terminal_start_pager();
	for (size_t i = 0; i < n; i++) {
		if (arg(args, "json")) {
			fputs(i ? ",\n" : "\n", stdout);
			print_json(s, sources, &s->list[order[i]]);
		} else {
			print_text(s, sources, &s->list[order[i]]);
		}
	}
	if (arg(args, "json"))
		puts("\n]}");
	free(order);
}

static int run(const struct args *args, struct error *err)
{
	static const struct stacks_visitor none = { 0 };
	uint64_t at = UINT64_MAX, pid = 0;
	struct source_lines sources;
	struct checkpoint from;
	struct stacks stacks;
	struct index *index;
	struct trace_arg t;
	int r = EXIT_FAILED;

	if (arg_time(args, "at", &at, err) < 0 || arg_u64(args, "pid", &pid, err) < 0)
		return EXIT_USAGE;
	if (trace_arg_open(args->operands[0], &t, err) < 0)
		return EXIT_FAILED;
	if (debug_arg(args, &t.names, &sources, err) < 0) {
		source_lines_deinit(&sources);
		trace_arg_close(&t);
		return EXIT_FAILED;
	}
	index = index_for(&t);
	if (stacks_replay(&stacks, t.reader, &t.names, &t.threads, index && index_checkpoint(index, index_at(index, at), &from) ?
			  &from : NULL, at, &none, NULL, err) == 0) {
		show(args, &stacks, &sources, pid);
		r = EXIT_OK;
	}
	index_free(index);
	stacks_deinit(&stacks);
	source_lines_deinit(&sources);
	trace_arg_close(&t);
	return r;
}

static const struct option options[] = {
	{ 0, "at", "TIME", "guest time: 1.5s, 20ms (default: the end)" },
	{ 0, "pid", "PID", "only this thread" },
	{ 0, "running", NULL, "only threads that a vCPU runs" },
	DEBUG_OPTION,
	{ 0, "json", NULL, "print JSON" },
	HELP_OPTION,
	{ 0 },
};

const struct command cmd_stack = {
	.name = "stack",
	.operands = "TRACE",
	.summary = "what was every CPU and every thread doing at a moment?",
	.description = "Prints whole call stacks, the innermost function first: of what each vCPU ran at that time, then "
		       "of all other threads, as they were left when they were switched from.\n"
		       "<interrupt>, <syscall> and <signal> mark where user or kernel code was left for the kernel, or "
		       "for a signal's handler.\n"
		       "With --debug, each function of these files has the source line where it is, and functions that "
		       "were inlined there have lines of their own. To which code a file belongs is seen from its "
		       "functions; a stripped one's debug file is looked for by its build-id, below /usr/lib/debug and "
		       "at the servers of DEBUGINFOD_URLS.\n"
		       INDEX_NOTE,
	.examples = "  upto stack --at 2.5s trace.upto\n      everybody, two and a half seconds in\n"
		    "  upto stack --at 2.5s --running trace.upto\n      only what ran\n"
		    "  upto stack --at 2.5s --debug vmlinux:ext4.ko trace.upto\n      with source lines\n"
		    "  upto stack --pid 1 trace.upto\n      what init was doing at the end\n",
	.options = options,
	.min_operands = 1, .max_operands = 1,
	.run = run,
};
