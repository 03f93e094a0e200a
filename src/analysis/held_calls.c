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

static bool decode(struct cursor *in, struct held_calls *h)
{
	uint64_t number = h->count ? h->numbers[h->count - 1] : 0;

	while (cursor_left(in)) {
		uint64_t more = cursor_varint(in);

		if (in->bad || !more || more > UINT64_MAX - number)
			return false;
		number += more;
		h->numbers = array_grow(h->numbers, h->count, &h->cap, sizeof *h->numbers);
		h->numbers[h->count++] = number;
	}
	return true;
}

int held_calls_read(const struct reader *r, struct held_calls *ret, struct error *err)
{
	ZSTD_DCtx *zstd = ZSTD_createDCtx();
	struct buf packed = { 0 }, data = { 0 };
	int result = 0;

	*ret = (struct held_calls){ 0 };
	for (size_t i = 0; i < r->n_chunks && result == 0; i++) {
		struct cursor in;

		if (r->chunks[i].header.type != CHUNK_HELD)
			continue;
		result = reader_chunk(r, i, zstd, &packed, &data, err);
		in = cursor_over(data.data, data.len);
		if (result == 0 && !decode(&in, ret))
			result = error_set(err, "%s: chunk %zu at byte %llu: numbers of held calls are damaged", r->path, i,
					   (unsigned long long)r->chunks[i].offset);
	}
	ZSTD_freeDCtx(zstd);
	buf_free(&packed);
	buf_free(&data);
	return result;
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
