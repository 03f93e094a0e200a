/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "frames.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "terminal.h"
#include "values.h"

const struct thread *frames_thread(const struct threads *threads, const struct stack *stack)
{
	static const struct thread before_threads = { .comm = "[boot]", .exe = "" };

	return stack->thread == THREAD_NONE ? &before_threads : &threads->list[stack->thread];
}

/* Where control is in a frame. */
struct frame_place {
	uint64_t addr;      /* its callee will return there; of the innermost frame, where control went last. 0: none */
	uint64_t ns;        /* since when: names are those of that time */
	uint32_t version;   /* of the address space then: a new program has another */
};

/* In frame `i`, at that time. One that has left for a tail call is nowhere. `view` is the caller's, for all frames. */
static struct frame_place place_in(const struct stacks *s, const struct stack *stack, size_t i, uint64_t ns,
			     struct space_view *view)
{
	const struct thread *t = threads_at(s->threads, stack->thread);
	const struct frame *callee = i + 1 < stack->depth ? &stack->frames[i + 1] : NULL;
	struct frame_place place = {
		.addr = callee ? callee->from : stack->place, .ns = callee ? callee->entry_ns : ns,
	};

	if (callee && callee->kind == FRAME_TAIL)
		place.addr = 0;
	if (t)
		place.ns = thread_time(t, place.ns);
	place.version = spaces_at(&s->names->spaces, view, t ? t->task : 0, place.ns);
	return place;
}

static void put_place(const struct names *names, const struct stack *stack, size_t i, const struct frame_place *place,
		      struct buf *out)
{
	const struct frame *f = &stack->frames[i];
	struct buf name = { 0 };

	/* in a thunk, which is its caller's */
	if (!place->addr ||
	    names_is_thunk(names, names_place(names, place->addr, place->ns, place->version).function))
		buf_printf(&name, "%s", names_function(names, f->function));
	else if (f->function >= names->groups)
		buf_printf(&name, "0x%" PRIx64 " %s", place->addr, names_function(names, f->function));
	else if (i + 1 < stack->depth && stack->frames[i + 1].kind == FRAME_CALL)
		names_return_address(names, place->addr, place->ns, place->version, &name);
	else
		names_address(names, place->addr, place->ns, place->version, &name);
	buf_put_u8(&name, 0);
	terminal_escape(out, (char *)name.data);
	buf_free(&name);
}

/* The source lines of frame `i`. Those of functions that were inlined there come first. */
static size_t lines_of(const struct source_lines *sources, const struct stacks *s, const struct stack *stack, size_t i,
		       const struct frame_place *place, struct source_line *ret)
{
	uint64_t addr = place->addr;

	if (i + 1 < stack->depth)
		addr = frame_call_place(stack->frames[i + 1].kind, addr);
	return source_lines_at(sources, s->names, addr, place->ns, place->version, ret);
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

/* What the frame's call was given; NULL: not recorded, or nobody asks. */
static const struct fact *args_of(const struct frame_sources *of, const struct stacks *s, const struct stack *stack,
				  const struct frame *f, uint64_t ns)
{
	uint64_t task = stack->thread == THREAD_NONE ? 0 : s->threads->list[stack->thread].task;

	return of->values ? call_values_open(of->values, f, task, ns) : NULL;
}

void frames_put(struct buf *out, const struct stacks *s, const struct frame_sources *of, const struct stack *stack,
		uint64_t ns)
{
	struct source_line lines[SOURCE_LINES_MAX];
	struct space_view view = { 0 };

	for (size_t i = stack->depth; i-- > 0;) {
		const struct frame *f = &stack->frames[i];
		struct frame_place place = place_in(s, stack, i, ns, &view);
		size_t n = lines_of(of->lines, s, stack, i, &place, lines);

		put_inlined(out, lines, n);
		buf_printf(out, "    ");
		put_place(s->names, stack, i, &place, out);
		values_put_args(out, of->values, args_of(of, s, stack, f, ns));
		if (f->kind != FRAME_CALL && f->kind != FRAME_BASE)
			buf_printf(out, " <%s>", frame_kind_name(f->kind));
		if (n && !lines[n - 1].inlined)
			debug_put(out, &lines[n - 1]);
		buf_put_u8(out, '\n');
	}
}

static void put_inlined_json(struct json *j, const struct source_line *lines, size_t n, uint64_t address)
{
	for (size_t k = 0; k < n && lines[k].inlined; k++) {
		json_object(j, NULL);
		json_text(j, "function", lines[k].function ? lines[k].function : "");
		json_text(j, "kind", "inlined");
		json_address(j, "address", address);
		debug_put_json(j, &lines[k]);
		json_close(j);
	}
}

static void put_frame_json(struct json *j, const struct stacks *s, const struct frame_sources *of,
			   const struct stack *stack, const struct frame *f, uint64_t address, uint64_t ns,
			   const struct source_line *line)
{

	json_object(j, NULL);
	json_text(j, "function", names_function(s->names, f->function));
	json_text(j, "kind", frame_kind_name(f->kind));
	if (address)
		json_address(j, "address", address);
	else
		json_null(j, "address");
	json_number(j, "start_ns", f->entry_ns);
	if (of->values)
		value_args_json(j, of->values, args_of(of, s, stack, f, ns));
	if (line)
		debug_put_json(j, line);
	json_close(j);
}

void frames_put_json(struct json *j, const struct stacks *s, const struct frame_sources *of, const struct stack *stack,
		     uint64_t ns)
{
	struct source_line lines[SOURCE_LINES_MAX];
	struct space_view view = { 0 };

	json_array(j, "frames");
	for (size_t i = stack ? stack->depth : 0; i-- > 0;) {
		struct frame_place place = place_in(s, stack, i, ns, &view);
		size_t n = lines_of(of->lines, s, stack, i, &place, lines);

		put_inlined_json(j, lines, n, place.addr);
		put_frame_json(j, s, of, stack, &stack->frames[i], place.addr, ns,
			       n && !lines[n - 1].inlined ? &lines[n - 1] : NULL);
	}
	json_close(j);
}

void frames_forget_folded_places(const struct stacks *s, struct stack *stack, uint64_t ns)
{
	struct space_view view = { 0 };

	for (size_t k = 0; k < stack->depth; k++) {
		bool top = k + 1 == stack->depth;
		struct frame_place place = place_in(s, stack, k, ns, &view);
		uint64_t at = top || !place.addr ? place.addr
						 : frame_call_place(stack->frames[k + 1].kind, place.addr);

		if (at && names_place(s->names, at, place.ns, place.version).function != stack->frames[k].function)
			*(top ? &stack->place : &stack->frames[k + 1].from) = 0;
	}
}

bool frames_copy(const struct stacks *s, uint64_t task, unsigned cpu, uint64_t ns, bool folded, struct stack *ret)
{
	const struct stack *stack = stacks_running(s, task, cpu, ns);

	*ret = (struct stack){ 0 };
	if (!stack || !stack->depth)
		return false;
	*ret = *stack;
	ret->frames = xmalloc(stack->depth * sizeof *ret->frames);
	memcpy(ret->frames, stack->frames, stack->depth * sizeof *ret->frames);
	if (folded)
		frames_forget_folded_places(s, ret, ns);
	return true;
}
