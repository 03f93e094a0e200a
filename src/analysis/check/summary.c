/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "summary.h"

#include "base/alloc.h"
#include "trace/damage.h"

struct summary_run {
	struct summary sum;
	uint64_t ns;
	bool halted;
	uint64_t gaps_lost; /* events, by the gaps that were recorded */
};

static int begin(void *state, const struct chunk_header *h, struct error *err)
{
	struct summary_run *s = state;

	(void)err;
	s->ns = h->first_ns;
	s->halted = h->flags & CHUNK_HALTED;
	s->sum.insns += h->last_insns - h->first_insns;
	if (h->last_ns > s->sum.duration_ns)
		s->sum.duration_ns = h->last_ns;
	return 0;
}

static int batch(void *state, struct batch *b, struct error *err)
{
	struct summary_run *s = state;

	(void)err;
	for (size_t i = 0; i < b->count; i++) {
		const struct event *e = &b->events[i];

		s->sum.kinds[e->kind]++;
		if (e->kind == EVENT_GAP)
			*(damage_made_gap(e->args) ? &s->sum.lost : &s->gaps_lost) += e->args[GAP_LOST];
		if (s->halted)
			s->sum.halted_ns += e->ns - s->ns;
		s->halted = e->kind == EVENT_HALT || (s->halted && e->kind == EVENT_CLOCK);
		s->ns = e->ns;
	}
	s->sum.events += b->count;
	return 0;
}

int summary_analyse(const struct reader *r, struct summary *ret, struct error *err)
{
	static const struct chunk_visitor visitor = { .begin = begin, .batch = batch };
	unsigned threads = walk_threads();
	struct summary_run *states = xcalloc(threads, sizeof *states);
	void **pointers = xcalloc(threads, sizeof *pointers);
	struct summary sum = { .vcpus = reader_vcpus(r) };
	uint64_t gaps_lost = 0;
	int result;

	for (unsigned i = 0; i < threads; i++)
		pointers[i] = &states[i];
	result = walk_chunks(r, &SPAN_ALL, &visitor, pointers, threads, err);
	for (unsigned i = 0; i < threads; i++) {
		const struct summary *part = &states[i].sum;

		for (int k = 0; k < EVENT_KINDS; k++)
			sum.kinds[k] += part->kinds[k];
		sum.events += part->events;
		sum.lost += part->lost;
		gaps_lost += states[i].gaps_lost;
		sum.insns += part->insns;
		sum.halted_ns += part->halted_ns;
		if (part->duration_ns > sum.duration_ns)
			sum.duration_ns = part->duration_ns;
	}
	/* its end says all that was lost; a trace that was cut short has none */
	sum.lost += gaps_lost > reader_lost(r) ? gaps_lost : reader_lost(r);
	for (size_t i = 0; i < r->n_damages; i++)
		sum.lost += r->damages[i].at_end ? r->damages[i].events : 0;
	for (size_t i = 0; i < r->n_chunks; i++)
		if (r->chunks[i].header.type < CHUNK_TYPES)
			sum.stored[r->chunks[i].header.type] +=
				sizeof(struct chunk_header) + r->chunks[i].header.stored;
	free(states);
	free(pointers);
	*ret = sum;
	return result;
}
