/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "max_size.h"

#include <stdlib.h>

#include "base/alloc.h"

/* Calls by how long they took: eight classes for each power of two. */
enum { CLASSES = 64 * 8 };

static unsigned class_of(uint64_t ns)
{
	unsigned log = ns < 8 ? 3 : 63 - (unsigned)__builtin_clzll(ns);

	return ns < 8 ? 0 : log * 8 + (unsigned)(ns >> (log - 3) & 7);
}

/* The shortest time of a class. */
static uint64_t class_from(unsigned class)
{
	return class < 24 ? 0 : (UINT64_C(8) | (class & 7)) << (class / 8 - 3);
}

/* Calls by their class, and by how many are around them; the deepest are together. */
enum { DEPTHS = 64 };
typedef uint64_t counts[CLASSES][DEPTHS];

static int count(void *state, struct call_stream *stream, const struct stream_item *item, struct error *err)
{
	uint64_t(*calls)[DEPTHS] = state;

	(void)stream, (void)err;
	if (item->kind == STREAM_END)
		calls[class_of(item->ns - item->entry_ns)][item->depth < DEPTHS ? item->depth : DEPTHS - 1]++;
	return 0;
}

/* Calls that are left of at least that class, with less than so many around them; of DEPTHS: however many. */
static uint64_t left_of(counts calls, unsigned class, unsigned depth)
{
	uint64_t n = 0;

	for (; class < CLASSES; class++)
		for (unsigned i = 0; i < depth; i++)
			n += calls[class][i];
	return n;
}

static unsigned shortest(counts calls, unsigned class, unsigned depth, uint64_t room)
{
	while (class < CLASSES && left_of(calls, class, depth) > room)
		class++;
	return class;
}

/*
 * What is short goes first. Where what is longer than LONG_NS is too much still, the deepest go, down to LEAST_DEPTH,
 * since outer calls tell more of a timeline; and then what is longer.
 */
static void choose(counts calls, uint64_t room, const struct stream_options *asked, struct stream_options *ret)
{
	enum { LONG_NS = 1000000, LEAST_DEPTH = 8 };
	unsigned class = shortest(calls, 0, DEPTHS, room), longest = class_of(LONG_NS), depth = DEPTHS;

	if (class > longest) {
		while (depth > LEAST_DEPTH && left_of(calls, longest, depth) > room)
			depth--;
		class = shortest(calls, longest, depth, room);
	}
	ret->no_calls = class && !left_of(calls, class, depth);
	ret->min_ns = class_from(class);
	if (ret->min_ns < asked->min_ns)
		ret->min_ns = asked->min_ns;
	if (ret->no_calls)
		ret->min_ns = 0; /* or all else is held back in vain */
	ret->max_depth = depth < DEPTHS ? depth : asked->max_depth;
}

/* A sink that only counts, up to a limit. */
struct counted {
	uint64_t bytes, max;
};

static int add(void *context, const void *data, size_t n, struct error *err)
{
	struct counted *c = context;

	(void)data;
	c->bytes += n;
	return c->bytes <= c->max ? 0 : error_set(err, "too large");
}

/* 1: it fits; 0: it does not. */
static int fits(const struct exporter *e, const struct session *session, const struct export_options *options,
		uint64_t max_bytes, struct error *err)
{
	struct counted counted = { .max = max_bytes };
	const struct sink sink = { add, &counted };
	struct folder folder = { .fd = -1, .max_bytes = max_bytes };
	int r = e->put ? e->put(session, options, &sink, err) : e->put_folder(session, options, &folder, err);

	if (r == 0)
		return 1;
	return counted.bytes > max_bytes || folder.bytes > max_bytes ? 0 : -1;
}

/* For a stream of calls: what is left out is reckoned, and more of it until it fits. */
static int fit_stream(const struct exporter *e, const struct session *session, struct export_options *options,
		      uint64_t max_bytes, struct error *err)
{
	uint64_t(*calls)[DEPTHS] = xcalloc(CLASSES, sizeof *calls), room = max_bytes / e->call_bytes;
	const struct stream_listener to = { count, calls };
	const struct stream_options asked = options->part;
	struct stream_options all = asked;
	int r;

	all.calls_only = true;
	r = call_stream_tell(session, &all, &to, NULL, err);
	for (int fit = 0; r == 0 && !fit; room -= room / 8 + 1) {
		choose(calls, room, &asked, &options->part);
		fit = fits(e, session, options, max_bytes, err);
		if (fit < 0)
			r = -1;
	}
	free(calls);
	return r;
}

static int fit_sums(const struct exporter *e, const struct session *session, struct export_options *options,
		    uint64_t max_bytes, struct error *err)
{
	int r;

	while ((r = fits(e, session, options, max_bytes, err)) == 0)
		options->smallest = options->smallest ? options->smallest + options->smallest / 2 : 1000;
	return r < 0 ? -1 : 0;
}

int max_size_fit(const struct exporter *e, const struct session *session, struct export_options *options,
		 uint64_t max_bytes, struct error *err)
{
	struct export_options none = *options;
	int r;

	/* without any calls it is as small as it can be */
	none.smallest = UINT64_MAX / 4;
	none.part.min_ns = 0;
	none.part.no_calls = true;
	if ((r = fits(e, session, &none, max_bytes, err)) <= 0)
		return r < 0 ? -1 : error_set(err, "--max-size: without any calls it is larger still");
	return e->kind == EXPORTS_STREAM ? fit_stream(e, session, options, max_bytes, err)
					 : fit_sums(e, session, options, max_bytes, err);
}
