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

/* A panic, while it is told of. */
struct panic_note {
	const struct trace_arg *trace;
	const struct milestone *panic;
	const struct thread *thread; /* NULL: before the first switch to one */
	uint64_t led_ns;        /* when what reports it began: what came before led to it */
	struct buf text;        /* its frames, a line each … */
	struct json *json;      /* … or, not NULL, where they go */
	struct last_calls calls;
};

static bool is_named(const struct names *names, const struct frame *f, const char *const *list)
{
	const char *name = names_function(names, f->function);

	while (*list && strcmp(name, *list))
		list++;
	return *list;
}

/* The frame that the panic was reported in; if it has none, as where it is inlined, the innermost. */
static size_t find_report(const struct names *names, const struct stack *stack)
{
	/* kernel/panic.c; vpanic() since Linux 6.16 */
	static const char *const reports[] = { "panic", "vpanic", "nmi_panic", NULL };
	size_t found = stack->depth - 1;

	for (size_t i = 0; i < stack->depth; i++)
		if (is_named(names, &stack->frames[i], reports))
			return i;
	return found;
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
	static const struct source_lines no_lines;
	const struct frame_sources of = { .lines = &no_lines };
	struct panic_note *p = state;
	uint64_t ns = p->panic->ns;
	struct stack stack, shown;
	size_t report, below;

	(void)i;
	if (!frames_copy(s, p->thread ? p->thread->task : 0, 0, ns, p->trace->session.fold, &stack)) {
		if (p->json)
			frames_put_json(p->json, s, &of, NULL, ns);
		return;
	}
	report = find_report(s->names, &stack);
	below = outside(s->names, &stack, report);
	p->led_ns = led_until(s->names, &stack, report);
	shown = stack;
	shown.frames += below;
	shown.depth = report + 1 - below;
	if (report + 1 < stack.depth)
		shown.place = stack.frames[report + 1].from;
	if (p->json)
		frames_put_json(p->json, s, &of, &shown, ns);
	else
		frames_put(&p->text, s, &of, &shown, ns);
	free(stack.frames);
}

/* What prints messages: its calls tell nothing of why. */
static bool *printing(const struct names *names)
{
	bool *marks = xcalloc(names_count(names), sizeof *marks);

	for (uint32_t i = 0; i < names_count(names); i++)
		marks[i] = names_is_kernel(names, i) && strstr(names_function(names, i), "printk");
	return marks;
}

static int find(struct panic_note *p, struct trace_arg *t, struct error *err)
{
	cleanup_free bool *hidden = printing(&t->names);

	p->thread = threads_at(&t->threads, p->panic->thread);
	p->led_ns = p->panic->ns;
	if (p->thread && t->threads.chosen && !t->threads.chosen[p->panic->thread]) { /* its calls were left out */
		if (p->json) {
			json_array(p->json, "frames");
			json_close(p->json);
		}
		return 0;
	}
	trace_arg_index(t);
	if (moments_analyse(&t->session, &p->panic->ns, 1, take, p, err) < 0)
		return -1;
	return last_calls_find(&t->session, p->panic->thread, p->led_ns, hidden, &p->calls, err);
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

/* Each line behind a #. */
static void put_frames(const struct panic_note *p, struct buf *out)
{
	const char *line = (const char *)p->text.data, *end = line + p->text.len;

	while (line < end) {
		const char *next = memchr(line, '\n', (size_t)(end - line));

		buf_printf(out, "\n#%.*s", (int)(next - line), line);
		line = next + 1;
	}
}

int panic_note_put(struct trace_arg *t, const struct milestone *panic, struct buf *out, struct error *err)
{
	struct panic_note p = { .trace = t, .panic = panic };
	int r = find(&p, t, err), pid = p.thread ? p.thread->pid : 0;

	if (r == 0 && p.text.len) { /* else it is not recorded */
		buf_printf(out, "\n# who panicked: ");
		terminal_escape(out, threads_comm(&t->threads, p.thread, panic->ns));
		buf_printf(out, " (%d), here; whole: upto stack --at panic --running ", pid);
		see_path(out, t->reader->path);
		put_frames(&p, out);
	}
	if (r == 0 && p.calls.count) {
		buf_printf(out, "\n# what it called before; more: upto calls --pid %d --to panic ", pid);
		see_path(out, t->reader->path);
		put_calls(&p, out);
	}
	buf_free(&p.text);
	return r;
}

static void put_call_json(const struct panic_note *p, const struct last_call *call)
{
	struct json *j = p->json;

	json_object(j, NULL);
	json_text(j, "function", names_function(&p->trace->names, call->function));
	json_number(j, "depth", call->depth);
	json_number(j, "start_ns", call->start_ns);
	json_known(j, "duration_ns", call->end_ns != UINT64_MAX, call->end_ns - call->start_ns);
	json_close(j);
}

int panic_note_json(struct json *j, struct trace_arg *t, const struct milestone *panic, struct error *err)
{
	struct panic_note p = { .trace = t, .panic = panic, .json = j };
	int r;

	json_object(j, "panic");
	r = find(&p, t, err);
	json_signed(j, "pid", p.thread ? p.thread->pid : 0);
	json_text(j, "comm", threads_comm(&t->threads, p.thread, panic->ns));
	json_number(j, "led_ns", p.led_ns);
	json_array(j, "calls");
	for (unsigned i = 0; r == 0 && i < p.calls.count; i++)
		put_call_json(&p, &p.calls.list[i]);
	json_close(j);
	json_close(j);
	return r;
}
