/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "frames.h"

#include <inttypes.h>
#include <stdio.h>

#include "json.h"
#include "terminal.h"

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

/* The source lines of frame `i`. Those of functions that were inlined there come first. */
static size_t lines_of(const struct source_lines *sources, const struct stacks *s, const struct stack *stack, size_t i,
		       uint64_t ns, uint32_t version, struct source_line *ret)
{
	uint64_t place = place_in(stack, i);

	if (i + 1 < stack->depth)
		place = frame_call_place(stack->frames[i + 1].kind, place);
	return source_lines_at(sources, s->names, place, ns, version, ret);
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

static uint32_t version_of(const struct stacks *s, const struct stack *stack, uint64_t ns)
{
	uint64_t task = stack->thread == THREAD_NONE ? 0 : s->threads->list[stack->thread].task;
	struct space_view view;

	spaces_view(&s->names->spaces, task, ns, &view);
	return view.version;
}

void frames_put(struct buf *out, const struct stacks *s, const struct source_lines *sources, const struct stack *stack,
		uint64_t ns)
{
	struct source_line lines[SOURCE_LINES_MAX];
	uint32_t version = version_of(s, stack, ns);

	for (size_t i = stack->depth; i-- > 0;) {
		const struct frame *f = &stack->frames[i];
		size_t n = lines_of(sources, s, stack, i, ns, version, lines);

		put_inlined(out, lines, n);
		buf_printf(out, "    ");
		put_place(s->names, stack, i, ns, version, out);
		if (f->kind != FRAME_CALL && f->kind != FRAME_BASE)
			buf_printf(out, " <%s>", frame_kind_name(f->kind));
		if (n && !lines[n - 1].inlined)
			debug_put(out, &lines[n - 1]);
		buf_put_u8(out, '\n');
	}
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

void frames_print_json(const struct stacks *s, const struct source_lines *sources, const struct stack *stack,
		       uint64_t ns)
{
	struct source_line lines[SOURCE_LINES_MAX];
	uint32_t version = version_of(s, stack, ns);

	putchar('[');
	for (size_t i = stack->depth; i-- > 0;) {
		const struct frame *f = &stack->frames[i];
		size_t n = lines_of(sources, s, stack, i, ns, version, lines);

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
	putchar(']');
}

void frames_forget_folded_places(struct stacks *s, uint64_t ns)
{
	for (size_t i = 0; i < s->count; i++) {
		struct stack *stack = &s->list[i];
		struct space_view view = { 0 };

		if (stack->thread != THREAD_NONE)
			spaces_view(&s->names->spaces, s->threads->list[stack->thread].task, ns, &view);
		for (size_t k = 0; k < stack->depth; k++) {
			bool top = k + 1 == stack->depth;
			uint64_t *place = top ? &stack->place : &stack->frames[k + 1].from;
			uint64_t at = top ? *place : frame_call_place(stack->frames[k + 1].kind, *place);

			if (at && names_place(s->names, at, ns, view.version).function != stack->frames[k].function)
				*place = 0;
		}
	}
}
