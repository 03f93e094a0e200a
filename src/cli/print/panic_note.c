/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "panic_note.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/calls/moments.h"
#include "analysis/ending/last_calls.h"
#include "base/alloc.h"
#include "frames.h"
#include "quantity.h"
#include "see.h"
#include "terminal.h"

#define PANIC "Kernel panic" /* how the line of the log begins that is a panic's name */

bool is_panic(const struct milestone *moment)
{
	return !strncmp(moment->name, PANIC, strlen(PANIC));
}

static bool is_named(const struct names *names, const struct frame *f, const char *const *list)
{
	const char *name = names_function(names, f->function);

	while (*list && strcmp(name, *list))
		list++;
	return *list;
}

/* The frame that the panic was reported in. False: there is none, since its calls were left out, or are inlined. */
static bool find_report(const struct names *names, const struct stack *stack, size_t *ret)
{
	/* kernel/panic.c; vpanic() since Linux 6.16 */
	static const char *const reports[] = { "panic", "vpanic", "nmi_panic", NULL };

	for (*ret = 0; *ret < stack->depth; ++*ret)
		if (is_named(names, &stack->frames[*ret], reports))
			return true;
	return false;
}

/*
 * When it began that led to the report: its call, or, where an oops or a warning became a panic, the exception, since
 * all calls behind that print it.
 */
static uint64_t led_until(const struct names *names, const struct stack *stack, size_t report)
{
	/* arch/x86/kernel/dumpstack.c, kernel/panic.c */
	static const char *const of_exceptions[] = { "oops_end", "check_panic_on_warn", "__warn", NULL };
	size_t i = report;

	while (i && !is_named(names, &stack->frames[i], of_exceptions))
		i--;
	while (i && stack->frames[i].kind != FRAME_INTERRUPT)
		i--;
	return stack->frames[i ? i : report].entry_ns;
}

/* How many frames below that one are not the kernel's: of a program that it was called by. */
static size_t outside(const struct names *names, const struct stack *stack, size_t report)
{
	size_t i = report;

	while (i && names_is_kernel(names, stack->frames[i - 1].function))
		i--;
	return i;
}

static void take(void *state, size_t i, struct stacks *s)
{
	struct panic_note *p = state;
	struct stack stack;
	size_t report, below;

	(void)i;
	if (!frames_copy(s, p->thread ? p->thread->task : 0, 0, p->panic->ns, p->trace->session.fold, &stack))
		return;
	p->frames = stack.frames;
	if (!find_report(s->names, &stack, &report))
		return;
	below = outside(s->names, &stack, report);
	p->led_ns = led_until(s->names, &stack, report);
	p->stack = stack;
	p->stack.frames += below;
	p->stack.depth = report + 1 - below;
	if (report + 1 < stack.depth)
		p->stack.place = stack.frames[report + 1].from;
}

/* What prints messages: its calls tell nothing of why. */
static bool *printing(const struct names *names)
{
	bool *marks = xcalloc(names_count(names), sizeof *marks);

	for (uint32_t i = 0; i < names_count(names); i++) {
		size_t len;
		const char *name = names_alone(names, i, &len);

		marks[i] = names_is_kernel(names, i) && memmem(name, len, "printk", strlen("printk"));
	}
	return marks;
}

int panic_note_find(struct trace_arg *t, const struct milestone *panic, struct panic_note *ret, struct error *err)
{
	cleanup_free bool *hidden = printing(&t->names);

	*ret = (struct panic_note){ .trace = t, .panic = panic, .thread = threads_at(&t->threads, panic->thread) };
	ret->led_ns = panic->ns;
	if (ret->thread && t->threads.chosen && !t->threads.chosen[panic->thread])
		return 0; /* its calls were left out */
	trace_arg_index(t);
	if (moments_analyse(&t->session, &panic->ns, 1, take, ret, err) < 0)
		return -1;
	return last_calls_find(&t->session, panic->thread, ret->led_ns, hidden, &ret->calls, err);
}

void panic_note_deinit(struct panic_note *p)
{
	free(p->frames);
}

static void put_call(const struct panic_note *p, const struct last_call *call, uint32_t outermost, struct buf *out)
{
	enum { WIDTH = 10 };
	struct buf length = { 0 };

	if (call->end_ns != UINT64_MAX)
		put_duration(&length, call->end_ns - call->start_ns, true);
	else
		buf_printf(&length, "goes on");
	buf_printf(out, "\n#    ");
	put_moment(out, call->start_ns);
	buf_printf(out, " %*.*s %*s", WIDTH, (int)length.len, (char *)length.data, 2 * (int)(call->depth - outermost), "");
	terminal_escape(out, names_function(&p->trace->names, call->function));
	buf_free(&length);
}

static void put_calls(const struct panic_note *p, struct buf *out)
{
	const struct last_calls *calls = &p->calls;
	uint32_t outermost = UINT32_MAX;

	for (unsigned i = 0; i < calls->count; i++)
		outermost = calls->list[i].depth < outermost ? calls->list[i].depth : outermost;
	for (unsigned i = 0; i < calls->count; i++)
		put_call(p, &calls->list[i], outermost, out);
}

/* What the frames are printed by: the names, and the threads. */
static struct stacks context_of(const struct panic_note *p)
{
	return (struct stacks){ .names = &p->trace->names, .threads = &p->trace->threads };
}

/* Each line behind a #. */
static void put_frames(const struct panic_note *p, struct buf *out)
{
	static const struct source_lines no_lines;
	struct stacks s = context_of(p);
	struct buf text = { 0 };
	const char *line, *end;

	frames_put(&text, &s, &(struct frame_sources){ .lines = &no_lines }, &p->stack, p->panic->ns);
	line = (const char *)text.data;
	end = line + text.len;
	while (line < end) {
		const char *next = memchr(line, '\n', (size_t)(end - line));

		buf_printf(out, "\n#%.*s", (int)(next - line), line);
		line = next + 1;
	}
	buf_free(&text);
}

/* As --at and --to take it: by name, where there is no other boot that may have had one. */
static void put_moment_of(const struct panic_note *p, struct buf *out)
{
	if (p->trace->reader->boots.count == 1) {
		buf_printf(out, "panic ");
	} else {
		put_exact_seconds(out, p->panic->ns);
		buf_printf(out, "s ");
	}
}

void panic_note_put(const struct panic_note *p, struct buf *out)
{
	const char *path = p->trace->reader->path;
	int pid = p->thread ? p->thread->pid : 0;

	if (p->stack.depth) {
		buf_printf(out, "\n# who panicked: ");
		terminal_escape(out, threads_comm(&p->trace->threads, p->thread, p->panic->ns));
		buf_printf(out, " (%d), here; whole: upto stack --running --at ", pid);
		put_moment_of(p, out);
		see_path(out, path);
		put_frames(p, out);
	}
	if (p->calls.count)
		buf_printf(out, "\n# what it called before");
	if (p->calls.count && p->thread) {
		buf_printf(out, "; more: upto calls --pid %d --to ", pid);
		put_moment_of(p, out);
		see_path(out, path);
	}
	put_calls(p, out);
}

static void put_call_json(struct json *j, const struct panic_note *p, const struct last_call *call)
{
	json_object(j, NULL);
	json_text(j, "function", names_function(&p->trace->names, call->function));
	json_number(j, "depth", call->depth);
	json_number(j, "start_ns", call->start_ns);
	json_known(j, "duration_ns", call->end_ns != UINT64_MAX, call->end_ns - call->start_ns);
	json_close(j);
}

void panic_note_json(struct json *j, const struct panic_note *p)
{
	static const struct source_lines no_lines;
	struct stacks s = context_of(p);

	json_object(j, "panic");
	json_signed(j, "pid", p->thread ? p->thread->pid : 0);
	json_text(j, "comm", threads_comm(&p->trace->threads, p->thread, p->panic->ns));
	json_number(j, "led_ns", p->led_ns);
	frames_put_json(j, &s, &(struct frame_sources){ .lines = &no_lines }, p->stack.depth ? &p->stack : NULL,
			p->panic->ns);
	json_array(j, "calls");
	for (unsigned i = 0; i < p->calls.count; i++)
		put_call_json(j, p, &p->calls.list[i]);
	json_close(j);
	json_close(j);
}
