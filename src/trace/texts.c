/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "texts.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

void text_put(struct buf *out, const struct text *t)
{
	buf_put_varint(out, t->cpu);
	buf_put_varint(out, t->insns);
	buf_put_u8(out, (uint8_t)(t->arg | (t->cut ? 8u : 0u)));
	buf_put_str(out, t->bytes, t->len);
}

struct reading {
	struct texts *texts;
	bool (*keep)(void *state, const struct text *text);
	void *state;
};

static int decode(void *state, struct cursor *in, struct error *err)
{
	struct reading *reading = state;
	struct texts *t = reading->texts;

	while (cursor_left(in) && !in->bad) {
		struct text text = { .cpu = (uint32_t)cursor_varint(in), .insns = cursor_varint(in) };
		uint8_t arg = cursor_u8(in);
		const void *bytes;

		text.arg = arg & 7;
		text.cut = arg & 8;
		text.len = cursor_varint(in);
		bytes = cursor_take(in, text.len);
		if (!bytes)
			break;
		text.bytes = bytes;
		if (reading->keep && !reading->keep(reading->state, &text))
			continue;
		/*
		 * an offset into t->bytes; it becomes a pointer when all texts are read and the buffer does not move
		 * any more
		 */
		text.bytes = (const void *)(uintptr_t)t->bytes.len;
		buf_put(&t->bytes, bytes, text.len);
		t->list = array_grow(t->list, t->count, &t->cap, sizeof *t->list);
		t->list[t->count++] = text;
	}
	return in->bad ? error_set(err, "damaged strings") : 0;
}

static uint64_t key_of(uint32_t cpu, uint64_t insns, unsigned arg)
{
	return hash64(insns * 8 + arg) ^ hash64(cpu + 1u);
}

static void make_index(struct texts *t)
{
	for (size_t i = 0; i < t->count; i++) {
		struct text *text = &t->list[i];

		text->bytes = t->bytes.data ? (const char *)t->bytes.data + (uintptr_t)text->bytes : "";
		*map_put(&t->index, key_of(text->cpu, text->insns, text->arg), 0) = i + 1;
	}
}

int texts_read_some(const struct reader *r, bool (*keep)(void *state, const struct text *text), void *state,
		    struct texts *ret, struct error *err)
{
	int result;

	*ret = (struct texts){ 0 };
	result = reader_chunks_of(r, CHUNK_TEXTS, decode, &(struct reading){ ret, keep, state }, err);
	make_index(ret);
	return result;
}

static bool is_of_syscall(void *state, const struct text *text)
{
	(void)state;
	return text->arg < TEXT_ALLOCATED;
}

int texts_read(const struct reader *r, struct texts *ret, struct error *err)
{
	return texts_read_some(r, is_of_syscall, NULL, ret, err);
}

bool text_is_tap(const void *bytes, size_t len)
{
	static const char *const begins[] = { "ok ", "not ok ", "# selftests: ", "TAP version ", "1.." };
	static const char *const within[] = { "\nok ", "\nnot ok " };

	for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
		if (len > strlen(begins[i]) && !memcmp(bytes, begins[i], strlen(begins[i])))
			return true;
	/* what is written to a pipe comes in one piece, which may begin with anything */
	for (size_t i = 0; i < sizeof within / sizeof *within; i++)
		if (memmem(bytes, len, within[i], strlen(within[i])))
			return true;
	return false;
}

void texts_deinit(struct texts *t)
{
	free(t->list);
	buf_free(&t->bytes);
	map_free(&t->index);
	*t = (struct texts){ 0 };
}

const struct text *texts_find(const struct texts *t, uint32_t cpu, uint64_t insns, unsigned arg)
{
	const uint64_t *i = map_get(&t->index, key_of(cpu, insns, arg));
	const struct text *text = i && *i ? &t->list[*i - 1] : NULL;

	return text && text->cpu == cpu && text->insns == insns && text->arg == arg ? text : NULL;
}
