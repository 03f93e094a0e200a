/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "max_size.h"

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

static int count(void *state, struct call_stream *stream, const struct stream_item *item, struct error *err)
{
	uint64_t *calls = state;

	(void)stream, (void)err;
	if (item->kind == STREAM_END)
		calls[class_of(item->ns - item->entry_ns)]++;
	return 0;
}

/* A duration that as many calls have at least as there is room for. */
static int shortest(const struct exporter *e, const struct session *session, const struct export_options *options,
		    uint64_t max_bytes, uint64_t *ret_ns, struct error *err)
{
	uint64_t calls[CLASSES] = { 0 }, room = max_bytes / e->call_bytes, n = 0;
	const struct stream_listener to = { count, calls };
	struct stream_options part = options->part;
	unsigned at = CLASSES;

	part.calls_only = true;
	if (call_stream_tell(session, &part, &to, NULL, err) < 0)
		return -1;
	while (at && (n += calls[at - 1]) <= room)
		at--;
	*ret_ns = at ? class_from(at) : 0;
	return 0;
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

	if (e->put(session, options, &sink, err) == 0)
		return 1;
	return counted.bytes > max_bytes ? 0 : -1;
}

int max_size_fit(const struct exporter *e, const struct session *session, struct export_options *options,
		 uint64_t max_bytes, struct error *err)
{
	uint64_t *least = e->kind == EXPORTS_SUMS ? &options->smallest : &options->part.min_ns, reckoned = 0;
	uint64_t asked = *least;
	int r;

	/* without any calls it is as small as it can be */
	*least = UINT64_MAX / 4;
	if (e->put && (r = fits(e, session, options, max_bytes, err)) <= 0)
		return r < 0 ? -1 : error_set(err, "--max-size: without any calls it is larger still");
	*least = asked;
	if (e->kind == EXPORTS_STREAM && shortest(e, session, options, max_bytes, &reckoned, err) < 0)
		return -1;
	if (reckoned > *least)
		*least = reckoned;
	while (e->put && (r = fits(e, session, options, max_bytes, err)) <= 0) {
		if (r < 0)
			return -1;
		*least = *least ? *least + *least / 2 : 1000;
	}
	return 0;
}
