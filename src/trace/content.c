/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "content.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/map.h"

void content_deinit(struct content *c)
{
	free(c->pieces);
	*c = (struct content){ 0 };
}

uint64_t content_hash(const void *data, size_t len)
{
	uint64_t hash = 0, word;
	size_t i = 0;

	for (; len - i >= sizeof word; i += sizeof word) {
		memcpy(&word, (const char *)data + i, sizeof word);
		hash = hash64(hash ^ word);
	}
	word = 0;
	memcpy(&word, (const char *)data + i, len - i);
	return len - i ? hash64(hash ^ word) : hash;
}

void content_put(struct buf *out, const struct content *c, size_t first_piece)
{
	buf_put_str(out, (const char *)c->id, c->id_len);
	buf_put_varint(out, c->count - first_piece);
	for (size_t i = first_piece; i < c->count; i++) {
		buf_put_varint(out, c->pieces[i].offset);
		buf_put_varint(out, c->pieces[i].len);
		buf_put(out, &c->pieces[i].hash, sizeof c->pieces[i].hash);
	}
}

const struct content_piece *content_piece_at(const struct content *c, uint64_t offset)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->pieces[i].offset == offset)
			return &c->pieces[i];
	return NULL;
}

bool content_add_piece(struct content *c, const struct content_piece *piece)
{
	if (c->count == CONTENT_PIECES || content_piece_at(c, piece->offset))
		return false;
	c->pieces = array_grow(c->pieces, c->count, &c->cap, sizeof *c->pieces);
	c->pieces[c->count++] = *piece;
	return true;
}

static bool take_id(struct content *c, struct cursor *in)
{
	uint64_t len = cursor_varint(in);
	const void *id = len <= CONTENT_ID_MAX ? cursor_take(in, len) : NULL;

	if (!id)
		return false;
	if (len && !c->id_len) {
		memcpy(c->id, id, len);
		c->id_len = len;
	}
	return true;
}

bool content_add(struct content *c, struct cursor *in)
{
	uint64_t n;

	if (!take_id(c, in))
		return false;
	n = cursor_varint(in);
	for (uint64_t i = 0; i < n; i++) {
		struct content_piece p = { .offset = cursor_varint(in) };
		uint64_t len = cursor_varint(in);

		p.len = (uint32_t)len;
		p.hash = cursor_u64(in);
		if (in->bad || !len || len > CONTENT_PIECE_MAX)
			return false;
		content_add_piece(c, &p);
	}
	return !in->bad && !cursor_left(in);
}
