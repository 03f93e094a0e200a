/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "left_sums.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cursor.h"

/*
 * Numbers are written as differences from what is expected. All arithmetic is modulo 2^64, since files may have
 * anything.
 */
struct three {
	uint64_t calls, insns, ns;
};

enum { VIEWS = 2 }; /* of thunks: shown, folded */

static void put_string(struct buf *out, const char *text)
{
	size_t n = strlen(text);

	buf_put_varint(out, n);
	buf_put(out, text, n);
}

static size_t put_symbols(const struct left_sums *s, struct buf *out)
{
	uint64_t next = 0;
	size_t n = 0;

	while (n < s->n_names && s->names[n].symbol != LEFT_NO_SYMBOL)
		n++;
	buf_put_varint(out, n);
	for (size_t i = 0; i < n; i++) {
		buf_put_varint(out, s->names[i].symbol - next);
		next = s->names[i].symbol + 1;
	}
	return n;
}

static void put_names(const struct left_sums *s, struct buf *out)
{
	size_t first = put_symbols(s, out);

	buf_put_varint(out, s->n_names - first);
	for (size_t i = first; i < s->n_names; i++)
		put_string(out, s->names[i].function);
	for (size_t i = first; i < s->n_names; i++)
		buf_put_varint(out, s->names[i].nth);
}

/*
 * A function takes about as many instructions a call, and as much time an instruction, whoever calls it. `before`:
 * another pair; NULL: none.
 */
static uint64_t expect_insns(const struct left_edge *before, uint64_t calls)
{
	return before && before->calls ? calls * before->insns / before->calls : 0;
}

static uint64_t expect_ns(const struct left_edge *before, uint64_t insns)
{
	return before && before->insns ? insns * before->ns / before->insns : 0;
}

/* The pair before of the same function; NULL: there is none, among those from `first` on. */
static const struct left_edge *before(const struct left_sums *s, size_t first, size_t i)
{
	return i > first && s->edges[i - 1].name == s->edges[i].name ? &s->edges[i - 1] : NULL;
}

static void put_pairs(const struct left_sums *s, struct buf *out)
{
	size_t i = 0;

	for (uint32_t name = 0; name < s->n_names; name++) {
		size_t first = i;

		while (i < s->n_edges && s->edges[i].name == name)
			i++;
		buf_put_varint(out, i - first);
	}
	for (i = 0; i < s->n_edges; i++)
		buf_put_varint(out, s->edges[i].caller - (before(s, 0, i) ? before(s, 0, i)->caller + 1 : 0));
	for (i = 0; i < s->n_edges; i++)
		buf_put_varint(out, s->edges[i].calls);
	for (i = 0; i < s->n_edges; i++)
		buf_put_svarint(out, (int64_t)(s->edges[i].insns - expect_insns(before(s, 0, i), s->edges[i].calls)));
	for (i = 0; i < s->n_edges; i++)
		buf_put_svarint(out, (int64_t)(s->edges[i].ns - expect_ns(before(s, 0, i), s->edges[i].insns)));
}

/*
 * What the pairs from `first_edge` on say of the names from `first` on: a function's own instructions are those of its
 * calls, without those of the calls that it made. So it is where all that left-out calls called is left out, too.
 */
static struct three *expect_sums(const struct left_sums *s, size_t first, size_t first_edge)
{
	struct three *ret = xcalloc(s->n_names - first, sizeof *ret);

	for (size_t i = first_edge; i < s->n_edges; i++) {
		const struct left_edge *e = &s->edges[i];
		struct three *of = &ret[e->name - first], *by = &ret[e->caller - first];

		of->calls += e->calls;
		of->insns += e->insns;
		of->ns += e->ns;
		by->insns -= e->insns;
		by->ns -= e->ns;
	}
	return ret;
}

static void put_view(const struct three *sums, struct three *expected, size_t n, struct buf *out)
{
	for (size_t i = 0; i < n; i++)
		buf_put_svarint(out, (int64_t)(sums[i].calls - expected[i].calls));
	for (size_t i = 0; i < n; i++)
		buf_put_svarint(out, (int64_t)(sums[i].insns - expected[i].insns));
	for (size_t i = 0; i < n; i++)
		buf_put_svarint(out, (int64_t)(sums[i].ns - expected[i].ns));
	memcpy(expected, sums, n * sizeof *sums);
}

static void put_sums(const struct left_sums *s, struct buf *out)
{
	struct three *views[VIEWS] = { xcalloc(s->n_names, sizeof **views), xcalloc(s->n_names, sizeof **views) };
	struct three *expected = expect_sums(s, 0, 0);
	unsigned there = 0;

	for (size_t i = 0; i < s->n_sums; i++) {
		const struct left_sum *sum = &s->sums[i];

		views[sum->folded][sum->name] =
			(struct three){ (uint64_t)sum->calls, (uint64_t)sum->self_insns, (uint64_t)sum->self_ns };
		there |= 1u << sum->folded;
	}
	buf_put_u8(out, (uint8_t)there);
	for (unsigned v = 0; v < VIEWS; v++) {
		if (there >> v & 1)
			put_view(views[v], expected, s->n_names, out);
		free(views[v]);
	}
	free(expected);
}

void left_sums_encode(const struct left_sums *s, struct buf *out)
{
	put_names(s, out);
	put_pairs(s, out);
	put_sums(s, out);
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

static void add_name(struct left_sums *s, struct left_name name)
{
	s->names = array_grow(s->names, s->n_names, &s->cap_names, sizeof *s->names);
	s->names[s->n_names++] = name;
}

static void read_symbols(struct cursor *in, struct left_sums *s)
{
	uint64_t n = cursor_varint(in), next = 0;

	for (uint64_t i = 0; i < n && !in->bad; i++) {
		uint64_t symbol = next + cursor_varint(in);

		add_name(s, (struct left_name){ .symbol = symbol, .function = "" });
		next = symbol + 1;
	}
}

static void read_names(struct cursor *in, struct left_sums *s, struct buf *names)
{
	size_t first;
	uint64_t n;

	read_symbols(in, s);
	first = s->n_names;
	n = cursor_varint(in);
	for (uint64_t i = 0; i < n && !in->bad; i++)
		add_name(s, (struct left_name){ .symbol = LEFT_NO_SYMBOL, .function = read_string(in, names) });
	for (size_t i = first; i < s->n_names; i++)
		s->names[i].nth = cursor_varint(in);
}

static void add_edges(struct left_sums *s, uint32_t name, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		s->edges = array_grow(s->edges, s->n_edges, &s->cap_edges, sizeof *s->edges);
		s->edges[s->n_edges++] = (struct left_edge){ .name = name };
	}
}

/* How many pairs each function has. */
static void read_counts(struct cursor *in, struct left_sums *s, size_t first)
{
	enum { BYTES_MIN = 4 }; /* that a pair takes */
	size_t begin = s->n_edges;

	for (size_t name = first; name < s->n_names && !in->bad; name++) {
		uint64_t n = cursor_varint(in);

		in->bad |= n > cursor_left(in) / BYTES_MIN || s->n_edges - begin > cursor_left(in) / BYTES_MIN - n;
		if (!in->bad)
			add_edges(s, (uint32_t)name, n);
	}
}

static void read_pairs(struct cursor *in, struct left_sums *s, size_t first)
{
	size_t begin = s->n_edges;

	read_counts(in, s, first);
	for (size_t i = begin; i < s->n_edges && !in->bad; i++) {
		uint64_t caller = cursor_varint(in) + (before(s, begin, i) ? before(s, begin, i)->caller + 1 : first);

		in->bad |= caller < first || caller >= s->n_names;
		s->edges[i].caller = (uint32_t)caller;
	}
	for (size_t i = begin; i < s->n_edges && !in->bad; i++)
		s->edges[i].calls = cursor_varint(in);
	for (size_t i = begin; i < s->n_edges && !in->bad; i++)
		s->edges[i].insns = expect_insns(before(s, begin, i), s->edges[i].calls) + (uint64_t)cursor_svarint(in);
	for (size_t i = begin; i < s->n_edges && !in->bad; i++)
		s->edges[i].ns = expect_ns(before(s, begin, i), s->edges[i].insns) + (uint64_t)cursor_svarint(in);
	if (in->bad)
		s->n_edges = begin;
}

static void read_view(struct cursor *in, struct three *sums, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sums[i].calls += (uint64_t)cursor_svarint(in);
	for (size_t i = 0; i < n; i++)
		sums[i].insns += (uint64_t)cursor_svarint(in);
	for (size_t i = 0; i < n; i++)
		sums[i].ns += (uint64_t)cursor_svarint(in);
}

static void add_sum(struct left_sums *s, size_t name, bool folded, const struct three *sum)
{
	if (!sum->calls && !sum->insns && !sum->ns)
		return;
	s->sums = array_grow(s->sums, s->n_sums, &s->cap_sums, sizeof *s->sums);
	s->sums[s->n_sums++] = (struct left_sum){
		.name = (uint32_t)name, .folded = folded, .calls = (int64_t)sum->calls,
		.self_insns = (int64_t)sum->insns, .self_ns = (int64_t)sum->ns,
	};
}

static void read_sums(struct cursor *in, struct left_sums *s, size_t first, size_t first_edge)
{
	struct three *sums = expect_sums(s, first, first_edge);
	unsigned there = cursor_u8(in);

	in->bad |= there >> VIEWS;
	for (unsigned v = 0; v < VIEWS && !in->bad; v++) {
		if (!(there >> v & 1))
			continue;
		read_view(in, sums, s->n_names - first);
		for (size_t i = first; i < s->n_names && !in->bad; i++)
			add_sum(s, i, v, &sums[i - first]);
	}
	free(sums);
}

int left_sums_decode(struct cursor *in, struct left_sums *s, struct error *err)
{
	size_t first = s->n_names, first_edge = s->n_edges;
	struct buf *names;

	s->bytes = array_grow(s->bytes, s->n_bytes, &s->cap_bytes, sizeof *s->bytes);
	names = &s->bytes[s->n_bytes++];
	*names = (struct buf){ 0 };
	/* a name's length takes a byte at least, in place of which it gets its NUL: the bytes do not move */
	buf_reserve(names, cursor_left(in) + 1);
	read_names(in, s, names);
	if (!in->bad)
		read_pairs(in, s, first);
	if (!in->bad)
		read_sums(in, s, first, first_edge);
	return in->bad ? error_set(err, "damaged sums") : 0;
}

static int take(void *state, struct cursor *in, struct error *err)
{
	return left_sums_decode(in, state, err);
}

int left_sums_read(const struct reader *r, struct left_sums *ret, struct error *err)
{
	*ret = (struct left_sums){ 0 };
	return reader_chunks_of(r, CHUNK_SUMS, take, ret, err);
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
