/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "script_stacks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "script_places.h"

enum { FRAMES_MAX = 127, ALL_FRAMES_MAX = 2 << 20 };

void script_stacks_init(struct script_stacks *s, const struct session *session)
{
	*s = (struct script_stacks){ .names = session->names, .threads = session->threads };
	s->list = array_grow(s->list, 0, &s->cap, sizeof *s->list);
	s->list[s->count++] = (struct script_stack){ 0 };
}

void script_stacks_deinit(struct script_stacks *s)
{
	free(s->frames);
	free(s->list);
	map_free(&s->by_hash);
}

/* Where control is in frame i. */
static uint64_t address_in(const struct stack *stack, size_t i)
{
	if (i + 1 == stack->depth)
		return stack->cpu >= 0 && stack->frames[i].kind != FRAME_BASE && stack->frames[i].at_start
			       ? stack->frames[i].addr
			       : stack->place;
	return stack->frames[i + 1].from;
}

static size_t collect(const struct script_stacks *s, const struct stack *stack, uint64_t ns, bool user, uint64_t most,
		      struct script_frame *ret)
{
	struct space_view view = { 0 };
	uint32_t version = 0;
	size_t n = 0, i = stack->depth;

	while (user && i > 0 && !names_is_user(s->names, stack->frames[i - 1].function))
		i--;
	if (user && stack->thread >= 0)
		version = spaces_at(&s->names->spaces, &view, s->threads->list[stack->thread].task, ns);
	for (; i > 0 && n < most && n < FRAMES_MAX; i--) {
		const struct frame *f = &stack->frames[i - 1];

		if (names_is_user(s->names, f->function) != user)
			break;
		if (i < stack->depth && stack->frames[i].kind == FRAME_TAIL)
			continue;
		ret[n++] = (struct script_frame){ address_in(stack, i - 1), f->function, version };
	}
	return n;
}

static bool is_same(const struct script_stacks *s, uint64_t number, const struct script_frame *frames, size_t n)
{
	const struct script_stack *other = &s->list[number];

	return other->count == n && (!n || !memcmp(&s->frames[other->first], frames, n * sizeof *frames));
}

static uint64_t add(struct script_stacks *s, const struct script_frame *frames, size_t n, uint64_t ns)
{
	if (s->n_frames + n > ALL_FRAMES_MAX) {
		s->left_out++;
		return 0;
	}
	s->list = array_grow(s->list, s->count, &s->cap, sizeof *s->list);
	s->list[s->count] = (struct script_stack){ .first = s->n_frames, .count = n, .ns = ns };
	for (size_t i = 0; i < n; i++) {
		s->frames = array_grow(s->frames, s->n_frames, &s->frames_cap, sizeof *s->frames);
		s->frames[s->n_frames++] = frames[i];
	}
	return s->count++;
}

uint64_t script_stacks_put(struct script_stacks *s, const struct stack *stack, uint64_t ns, bool user, uint64_t most)
{
	struct script_frame frames[FRAMES_MAX];
	size_t n = stack ? collect(s, stack, ns, user, most, frames) : 0;
	uint64_t hash = hash_bytes(user, frames, n * sizeof *frames), *number;

	if (!n)
		return 0;
	for (;; hash++) {
		number = map_put(&s->by_hash, hash, 0);
		if (!*number) {
			*number = add(s, frames, n, ns);
			return *number;
		}
		if (is_same(s, *number, frames, n))
			return *number;
	}
}

static void put_function(const struct script_stacks *s, uint32_t function, struct buf *out)
{
	size_t len;
	const char *name = script_function_name(s->names, function, &len);

	buf_put(out, name, len);
}

/* "vfs_read+131": a number in tens, as bpftrace has it. Where a call returns to is its caller's, also behind the last
 * one. */
static void put_frame(const struct script_stacks *s, const struct script_frame *f, uint64_t ns, bool returns,
		      struct buf *out)
{
	struct names_symbol symbol;

	if (!names_symbol(s->names, f->address - returns, ns, f->version, &symbol)) {
		names_address(s->names, f->address, ns, f->version, out);
		return;
	}
	put_function(s, f->function, out);
	buf_printf(out, "+%" PRIu64, symbol.offset + returns);
}

void script_stacks_text(const struct script_stacks *s, uint64_t number, unsigned indent, struct buf *out)
{
	const struct script_stack *k = &s->list[number < s->count ? number : 0];

	buf_put_u8(out, '\n');
	for (size_t i = k->first; i < k->first + k->count; i++) {
		const struct script_frame *f = &s->frames[i];

		buf_printf(out, "%*s", (int)indent, "");
		put_frame(s, f, k->ns, i > k->first, out);
		buf_put_u8(out, '\n');
	}
}
