/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "settled.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "walk.h"

enum { LATE_MS = 2000 };

/* Where the chunks of each vCPU end. Returns the last of all. */
static uint64_t find_reached(struct settled *s, const struct reader *r)
{
	uint64_t last = 0;

	if (!s->reached) {
		s->vcpus = reader_vcpus(r);
		s->reached = xcalloc(s->vcpus, sizeof *s->reached);
	}
	for (size_t i = 0; i < r->n_chunks; i++) {
		const struct chunk_header *h = &r->chunks[i].header;

		if (h->type != CHUNK_EVENTS || h->cpu >= s->vcpus)
			continue;
		s->reached[h->cpu] = h->last_ns;
		last = h->last_ns > last ? h->last_ns : last;
	}
	return last;
}

/* How far the trace reached so long ago that nothing from before can come any more. */
static uint64_t long_ago(struct settled *s, uint64_t last, uint64_t host_ms)
{
	uint64_t ret = 0;

	s->seen[s->count % SETTLED_SEEN].host_ms = host_ms;
	s->seen[s->count++ % SETTLED_SEEN].ns = last;
	for (size_t i = 0; i < SETTLED_SEEN && i < s->count; i++)
		if (s->seen[i].host_ms + LATE_MS <= host_ms && s->seen[i].ns > ret)
			ret = s->seen[i].ns;
	return ret;
}

uint64_t settled_ns(struct settled *s, const struct reader *r, uint64_t host_ms)
{
	uint64_t last = find_reached(s, r), ago = long_ago(s, last, host_ms), ret = last;

	for (unsigned i = 0; i < s->vcpus; i++) {
		uint64_t known = s->reached[i] > ago || s->vcpus == 1 ? s->reached[i] : ago;

		ret = known < ret ? known : ret;
	}
	s->ns = ret > s->ns ? ret : s->ns;
	return s->ns;
}

int settled_is_late(const struct settled *s, const struct reader *r, struct error *err)
{
	int result = 0;

	for (unsigned i = 0; i < s->vcpus && result == 0; i++) {
		const struct span span = { .from_ns = s->reached[i] + 1, .to_ns = s->ns, .cpu = (int)i };
		const struct event *e;
		struct merged *m;
		unsigned cpu;

		if (span.from_ns >= span.to_ns)
			continue;
		m = merged_new(r, &span);
		result = merged_next(m, &e, &cpu, err);
		merged_free(m);
	}
	return result;
}

void settled_deinit(struct settled *s)
{
	free(s->reached);
}
