/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "left_sums.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cursor.h"

static void put_string(struct buf *out, const char *text)
{
	size_t n = strlen(text);

	buf_put_varint(out, n);
	buf_put(out, text, n);
}

static void put_name(struct buf *out, const struct left_name *name)
{
	put_string(out, name->function);
	put_string(out, name->object);
	buf_put_varint(out, name->nth);
}

void left_sums_encode(const struct left_sums *s, struct buf *out)
{
	buf_put_varint(out, s->n_names);
	for (size_t i = 0; i < s->n_names; i++)
		put_name(out, &s->names[i]);
	buf_put_varint(out, s->n_sums);
	for (size_t i = 0; i < s->n_sums; i++) {
		buf_put_varint(out, s->sums[i].name);
		buf_put_u8(out, s->sums[i].folded);
		buf_put_svarint(out, s->sums[i].calls);
		buf_put_svarint(out, s->sums[i].self_insns);
		buf_put_svarint(out, s->sums[i].self_ns);
	}
	buf_put_varint(out, s->n_edges);
	for (size_t i = 0; i < s->n_edges; i++) {
		buf_put_varint(out, s->edges[i].name);
		buf_put_varint(out, s->edges[i].caller);
		buf_put_varint(out, s->edges[i].calls);
		buf_put_varint(out, s->edges[i].insns);
		buf_put_varint(out, s->edges[i].ns);
	}
}

/* A string with a NUL behind it, in `names`, which has room for all. */
static const char *read_string(struct cursor *in, struct buf *names)
{
	uint64_t n = cursor_varint(in);
	const void *bytes = in->bad || n > cursor_left(in) ? NULL : cursor_take(in, n);
	const char *ret = (char *)names->data + names->len;

	if (!bytes) {
		in->bad = true;
		return "";
	}
	buf_put(names, bytes, n);
	buf_put_u8(names, 0);
	return ret;
}

static struct left_name read_name(struct cursor *in, struct buf *names)
{
	struct left_name name;

	name.function = read_string(in, names);
	name.object = read_string(in, names);
	name.nth = (uint32_t)cursor_varint(in);
	return name;
}

/* An index among the names of this chunk, which begin with number `first`. */
static uint32_t read_index(struct cursor *in, const struct left_sums *s, size_t first)
{
	uint64_t i = cursor_varint(in);

	in->bad |= i >= s->n_names - first;
	return (uint32_t)(first + i);
}

static void decode_names(struct cursor *in, struct left_sums *s, struct buf *names)
{
	uint64_t n = cursor_varint(in);

	for (uint64_t i = 0; i < n && !in->bad; i++) {
		s->names = array_grow(s->names, s->n_names, &s->cap_names, sizeof *s->names);
		s->names[s->n_names++] = read_name(in, names);
	}
}

static int decode(struct cursor *in, struct left_sums *s, struct buf *names)
{
	size_t first = s->n_names;
	uint64_t n;

	decode_names(in, s, names);
	n = cursor_varint(in);
	for (uint64_t i = 0; i < n && !in->bad; i++) {
		struct left_sum sum = { .name = read_index(in, s, first) };

		sum.folded = cursor_u8(in);
		sum.calls = cursor_svarint(in);
		sum.self_insns = cursor_svarint(in);
		sum.self_ns = cursor_svarint(in);
		s->sums = array_grow(s->sums, s->n_sums, &s->cap_sums, sizeof *s->sums);
		s->sums[s->n_sums] = sum;
		s->n_sums += !in->bad;
	}
	n = cursor_varint(in);
	for (uint64_t i = 0; i < n && !in->bad; i++) {
		struct left_edge edge = { .name = read_index(in, s, first) };

		edge.caller = read_index(in, s, first);
		edge.calls = cursor_varint(in);
		edge.insns = cursor_varint(in);
		edge.ns = cursor_varint(in);
		s->edges = array_grow(s->edges, s->n_edges, &s->cap_edges, sizeof *s->edges);
		s->edges[s->n_edges] = edge;
		s->n_edges += !in->bad;
	}
	return in->bad ? -1 : 0;
}

int left_sums_read(const struct reader *r, struct left_sums *ret, struct error *err)
{
	ZSTD_DCtx *zstd = ZSTD_createDCtx();
	struct buf packed = { 0 }, data = { 0 };
	int result = 0;

	*ret = (struct left_sums){ 0 };
	for (size_t i = 0; i < r->n_chunks && result == 0; i++) {
		struct cursor in;

		if (r->chunks[i].header.type != CHUNK_SUMS)
			continue;
		result = reader_chunk(r, i, zstd, &packed, &data, err);
		if (result < 0)
			break;
		ret->bytes = array_grow(ret->bytes, ret->n_bytes, &ret->cap_bytes, sizeof *ret->bytes);
		ret->bytes[ret->n_bytes] = (struct buf){ 0 };
		/* a name's length takes a byte at least, in place of which it gets its NUL: the bytes do not move */
		buf_reserve(&ret->bytes[ret->n_bytes], data.len + 1);
		in = cursor_over(data.data, data.len);
		if (decode(&in, ret, &ret->bytes[ret->n_bytes++]) < 0)
			result = error_set(err, "%s: chunk %zu at byte %llu: sums are damaged", r->path, i,
					   (unsigned long long)r->chunks[i].offset);
	}
	ZSTD_freeDCtx(zstd);
	buf_free(&packed);
	buf_free(&data);
	return result;
}

void left_sums_deinit(struct left_sums *s)
{
	for (size_t i = 0; i < s->n_bytes; i++)
		buf_free(&s->bytes[i]);
	free(s->bytes);
	free(s->names);
	free(s->sums);
	free(s->edges);
	*s = (struct left_sums){ 0 };
}
