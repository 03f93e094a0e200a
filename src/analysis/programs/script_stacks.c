/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "script_stacks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "script_places.h"

enum { FRAMES_MAX = 127, ALL_FRAMES_MAX = 2 << 20, KNOWN = 1 << 14 };

void script_stacks_init(struct script_stacks *s)
{
	*s = (struct script_stacks){ .known = xcalloc(KNOWN, sizeof *s->known) };
	s->list = array_grow(s->list, 0, &s->cap, sizeof *s->list);
	s->list[s->count++] = (struct script_stack){ 0 };
}

void script_stacks_begin(struct script_stacks *s, const struct session *session)
{
	s->names = session->names;
	s->threads = session->threads;
	memset(s->known, 0, KNOWN * sizeof *s->known);
}

void script_stacks_deinit(struct script_stacks *s)
{
	free(s->known);
	free(s->frames);
	free(s->list);
	name_table_deinit(&s->texts);
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

/* "vfs_read+131": a number in tens, as bpftrace has it. Where a call returns to is its caller's, also behind the last
 * one. */
static void put_frame(const struct script_stacks *s, const struct frame_name *f, uint64_t ns, struct buf *out)
{
	struct names_symbol symbol;
	const char *name;
	size_t len;

	if (!names_symbol(s->names, f->address - f->returns, ns, f->version, &symbol)) {
		names_address(s->names, f->address, ns, f->version, out);
		return;
	}
	name = names_alone(s->names, f->function, &len);
	buf_put(out, name, len);
	buf_printf(out, "+%" PRIu64, symbol.offset + f->returns);
}

static bool is_known(const struct frame_name *known, const struct frame_name *f)
{
	return known->name && known->address == f->address && known->function == f->function &&
	       known->version == f->version && known->returns == f->returns;
}

/* Number of what the frame is called. */
static uint32_t name_frame(struct script_stacks *s, struct frame_name *f, uint64_t ns)
{
	struct frame_name *known = &s->known[(hash64(f->address) + f->version) % KNOWN];
	struct buf text = { 0 };

	if (is_known(known, f))
		return known->name - 1;
	put_frame(s, f, ns, &text);
	f->name = name_table_put(&s->texts, (char *)text.data, text.len) + 1;
	buf_free(&text);
	*known = *f;
	return f->name - 1;
}

static size_t collect(struct script_stacks *s, const struct stack *stack, uint64_t ns, bool user, uint64_t most,
		      uint32_t *ret)
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
		ret[n] = name_frame(s, &(struct frame_name){ address_in(stack, i - 1), f->function, version, n > 0, 0 },
				    ns);
		n++;
	}
	return n;
}

static bool is_same(const struct script_stacks *s, uint64_t number, const uint32_t *frames, size_t n)
{
	const struct script_stack *other = &s->list[number];

	return other->count == n && (!n || !memcmp(&s->frames[other->first], frames, n * sizeof *frames));
}

static uint64_t add(struct script_stacks *s, const uint32_t *frames, size_t n)
{
	if (s->n_frames + n > ALL_FRAMES_MAX) {
		s->left_out++;
		return 0;
	}
	s->list = array_grow(s->list, s->count, &s->cap, sizeof *s->list);
	s->list[s->count] = (struct script_stack){ .first = s->n_frames, .count = n };
	for (size_t i = 0; i < n; i++) {
		s->frames = array_grow(s->frames, s->n_frames, &s->frames_cap, sizeof *s->frames);
		s->frames[s->n_frames++] = frames[i];
	}
	return s->count++;
}

uint64_t script_stacks_put(struct script_stacks *s, const struct stack *stack, uint64_t ns, bool user, uint64_t most)
{
	uint32_t frames[FRAMES_MAX];
	size_t n = stack ? collect(s, stack, ns, user, most, frames) : 0;
	uint64_t hash = hash_bytes(user, frames, n * sizeof *frames), *number;

	if (!n)
		return 0;
	for (;; hash++) {
		number = map_put(&s->by_hash, hash, 0);
		if (!*number) {
			*number = add(s, frames, n);
			return *number;
		}
		if (is_same(s, *number, frames, n))
			return *number;
	}
}

void script_stacks_text(const struct script_stacks *s, uint64_t number, unsigned indent, struct buf *out)
{
	const struct script_stack *k = &s->list[number < s->count ? number : 0];

	buf_put_u8(out, '\n');
	for (size_t i = k->first; i < k->first + k->count; i++)
		buf_printf(out, "%*s%s\n", (int)indent, "", name_table_text(&s->texts, s->frames[i]));
}
