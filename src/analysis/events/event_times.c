/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event_times.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/search.h"
#include "replay/walk.h"

/* All vCPUs' records, by vCPU and counter. */
struct records {
	struct fact **list;
	size_t count, cap;
	size_t first[CPUS_MAX + 1]; /* by vCPU: where its own begin */
};

/* One host thread's. */
struct walker {
	const struct records *records;
	unsigned cpu;
};

static int by_counter(const void *va, const void *vb)
{
	const struct fact *a = *(struct fact *const *)va, *b = *(struct fact *const *)vb;

	if (a->cpu != b->cpu)
		return a->cpu < b->cpu ? -1 : 1;
	return a->insns < b->insns ? -1 : a->insns > b->insns;
}

static void find_records(struct facts *facts, struct records *ret)
{
	for (size_t i = 0; i < facts->count; i++) {
		struct fact *f = &facts->list[i];

		if ((f->kind != FACT_EVENT && f->kind != FACT_ARGS) || f->cpu >= CPUS_MAX)
			continue;
		ret->list = array_grow(ret->list, ret->count, &ret->cap, sizeof *ret->list);
		ret->list[ret->count++] = f;
	}
	if (ret->count)
		qsort(ret->list, ret->count, sizeof *ret->list, by_counter);
	for (size_t i = 0, cpu = 0; cpu <= CPUS_MAX; cpu++) {
		while (i < ret->count && ret->list[i]->cpu < cpu)
			i++;
		ret->first[cpu] = i;
	}
}

/* The number of the vCPU's first record that is not before that. */
static size_t record_at(const struct records *r, unsigned cpu, uint64_t insns)
{
	return first_not(i, r->first[cpu], r->first[cpu + 1], r->list[i]->insns < insns);
}

static int begin(void *state, const struct chunk_header *h, struct error *err)
{
	struct walker *w = state;

	(void)err;
	w->cpu = h->cpu;
	return 0;
}

/* A batch lies between two clocks: what is at both has the same time by either. */
static int batch(void *state, struct batch *b, struct error *err)
{
	const struct walker *w = state;
	const struct records *r = w->records;
	const struct timebase *t = &b->timebase;
	uint64_t last = b->count ? b->events[b->count - 1].insns : t->insns;

	(void)err;
	for (size_t i = record_at(r, w->cpu, t->insns); i < r->first[w->cpu + 1] && r->list[i]->insns <= last; i++)
		__atomic_store_n(&r->list[i]->ns, timebase_ns(t, r->list[i]->insns), __ATOMIC_RELAXED);
	return 0;
}

int event_times_settle(const struct reader *r, struct facts *facts, struct error *err)
{
	static const struct chunk_visitor visitor = { .brief = true, .begin = begin, .batch = batch };
	unsigned threads = walk_threads();
	struct walker *walkers = xcalloc(threads, sizeof *walkers);
	void **states = xcalloc(threads, sizeof *states);
	struct records records = { 0 };
	int result = 0;

	find_records(facts, &records);
	for (unsigned i = 0; i < threads; i++) {
		walkers[i] = (struct walker){ .records = &records };
		states[i] = &walkers[i];
	}
	if (records.count)
		result = walk_chunks(r, &SPAN_ALL, &visitor, states, threads, err);
	facts_sort(facts);
	free(records.list);
	free(walkers);
	free(states);
	return result;
}
