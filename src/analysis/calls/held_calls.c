/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "held_calls.h"

#include "base/alloc.h"
#include "base/cursor.h"
#include "replay/story.h"

struct walk {
	struct held_calls list;
	struct map *collected;   /* NULL: encode */
	const struct map *held;
	struct buf *out;
	uint64_t last;           /* number of the call that was written last */
};

static uint64_t key_of(const struct stacks *s, const struct stack *stack, const struct frame *f)
{
	uint64_t pid = stack->thread == THREAD_NONE ? 0 : (uint32_t)s->threads->list[stack->thread].pid;

	return hash64(hash_text(pid + 1, names_function(s->names, f->function)) ^ f->entry_ns);
}

void held_calls_put(struct map *held, const struct stacks *s, const struct stack *stack, const struct frame *f)
{
	map_put(held, key_of(s, stack, f), 1);
}

bool held_calls_has(const struct map *held, const struct stacks *s, const struct stack *stack, const struct frame *f)
{
	return map_get(held, key_of(s, stack, f));
}

static int decode(void *state, struct cursor *in, struct error *err)
{
	struct held_calls *h = state;
	uint64_t number = h->count ? h->numbers[h->count - 1] : 0;

	while (cursor_left(in)) {
		uint64_t more = cursor_varint(in);

		if (in->bad || !more || more > h->most - number)
			return error_set(err, "damaged numbers of held calls");
		number += more;
		h->numbers = array_grow(h->numbers, h->count, &h->cap, sizeof *h->numbers);
		h->numbers[h->count++] = number;
	}
	return 0;
}

int held_calls_read(const struct reader *r, struct held_calls *ret, struct error *err)
{
	/* calls: what one event enters are itself, thunks and what control is seen in for the first time */
	enum { ENTERED_BY_ONE = 8 };

	*ret = (struct held_calls){ 0 };
	for (size_t i = 0; i < r->n_chunks; i++)
		ret->most += (uint64_t)r->chunks[i].header.events * ENTERED_BY_ONE;
	return reader_chunks_of(r, CHUNK_HELD, decode, ret, err);
}

void held_calls_deinit(struct held_calls *h)
{
	free(h->numbers);
	*h = (struct held_calls){ 0 };
}

static void enter(void *state, const struct story_moment *m)
{
	struct walk *w = state;

	if (w->collected) {
		if (held_calls_enter(&w->list))
			held_calls_put(w->collected, m->stacks, m->stack, m->frame);
		return;
	}
	w->list.entered++;
	if (!held_calls_has(w->held, m->stacks, m->stack, m->frame))
		return;
	buf_put_varint(w->out, w->list.entered - w->last);
	w->last = w->list.entered;
}

static int walk(const struct session *session, struct walk *w, struct error *err)
{
	static const struct story_listener listener = { .hear = enter, .kinds = 1u << STORY_ENTER };
	static const struct story_part whole = { .to_ns = UINT64_MAX };
	void *states[] = { w };

	return story_tell(session, &whole, NULL, &listener, states, 1, err) < 0 ? -1 : 0;
}

int held_calls_collect(const struct session *session, struct map *held, struct error *err)
{
	struct walk w = { .collected = held };
	int result = held_calls_read(session->reader, &w.list, err);

	if (result == 0 && w.list.count)
		result = walk(session, &w, err);
	held_calls_deinit(&w.list);
	return result;
}

int held_calls_encode(const struct session *session, const struct map *held, struct buf *out, struct error *err)
{
	return walk(session, &(struct walk){ .held = held, .out = out }, err);
}
