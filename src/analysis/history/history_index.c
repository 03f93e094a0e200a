/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds slices by their thread or vCPU. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/search.h"
#include "history.h"

/*
 * Numbers of slices, sorted by what `key` says of them, the order of time kept. *ret_first: where those of each key
 * begin.
 */
static uint32_t *sort_by(const struct history *h, uint32_t (*key)(const struct slice *), size_t keys,
			 uint32_t **ret_first)
{
	uint32_t *first = xcalloc(keys + 1, sizeof *first), *list = xcalloc(h->n_slices + 1, sizeof *list);
	uint32_t *next = xcalloc(keys + 1, sizeof *next);

	for (size_t i = 0; i < h->n_slices; i++)
		first[key(&h->slices[i]) + 1]++;
	for (size_t k = 0; k < keys; k++)
		first[k + 1] += first[k];
	memcpy(next, first, (keys + 1) * sizeof *next);
	for (size_t i = 0; i < h->n_slices; i++)
		list[next[key(&h->slices[i])]++] = (uint32_t)i;
	free(next);
	*ret_first = first;
	return list;
}

static uint32_t thread_of(const struct slice *x)
{
	return x->thread;
}

static uint32_t cpu_of(const struct slice *x)
{
	return x->cpu;
}

void history_index(struct history *h)
{
	h->by_thread = sort_by(h, thread_of, h->n_threads, &h->first_slice);
	h->by_cpu = sort_by(h, cpu_of, h->n_cpus, &h->first_on_cpu);
}

/* The place of the last slice of a list that began before the moment; `end`: there is none. */
static uint32_t last_before(const struct history *h, const uint32_t *list, uint32_t begin, uint32_t end, uint64_t ns)
{
	uint32_t low = first_not(i, begin, end, h->slices[list[i]].start_ns < ns);

	return low > begin ? low - 1 : end;
}

uint32_t history_slice(const struct history *h, uint32_t thread, uint64_t ns)
{
	uint32_t end = h->first_slice[thread + 1], at;

	at = last_before(h, h->by_thread, h->first_slice[thread], end, ns == UINT64_MAX ? ns : ns + 1);
	return at < end ? h->by_thread[at] : HISTORY_NONE;
}

uint32_t history_on_cpu(const struct history *h, unsigned cpu, uint64_t ns)
{
	return last_before(h, h->by_cpu, h->first_on_cpu[cpu], h->first_on_cpu[cpu + 1], ns);
}

struct other {
	uint32_t thread;
	uint64_t ns;
};

static int longest_first(const void *va, const void *vb)
{
	const struct other *a = va, *b = vb;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

static bool is_idle(const struct threads *threads, uint32_t thread)
{
	return thread >= threads->count || !threads->list[thread].pid;
}

struct other_list {
	struct other *list;
	size_t count, cap;
	struct map places; /* thread + 1 → place in the list + 1 */
};

static void add_other(struct other_list *o, uint32_t thread, uint64_t ns)
{
	uint64_t *at = map_put(&o->places, (uint64_t)thread + 1, 0);

	if (!*at) {
		o->list = array_grow(o->list, o->count, &o->cap, sizeof *o->list);
		o->list[o->count] = (struct other){ .thread = thread };
		*at = ++o->count;
	}
	o->list[*at - 1].ns += ns;
}

/* Who else ran on the vCPU in [from, to). */
static void add_window(const struct history *h, const struct threads *threads, unsigned cpu, uint32_t but,
		       uint64_t from, uint64_t to, struct other_list *o)
{
	uint32_t first = h->first_on_cpu[cpu], end = h->first_on_cpu[cpu + 1];

	for (uint32_t at = history_on_cpu(h, cpu, to); at < end; at = at > first ? at - 1 : end) {
		const struct slice *x = &h->slices[h->by_cpu[at]];
		uint64_t start = x->start_ns > from ? x->start_ns : from, stop = x->end_ns < to ? x->end_ns : to;

		if (x->end_ns <= from)
			break;
		if (x->thread != but && !is_idle(threads, x->thread) && stop > start)
			add_other(o, x->thread, stop - start);
	}
}

void history_others(const struct history *h, const struct threads *threads, const struct span_of *span,
		    struct others *ret)
{
	struct other_list o = { 0 };
	uint64_t from = span->start_ns;
	uint32_t i, end;

	*ret = (struct others){ 0 };
	for (int k = 0; k < HISTORY_HOT; k++)
		ret->threads[k] = HISTORY_NONE;
	if (span->thread == HISTORY_NONE || span->thread >= h->n_threads)
		return;
	end = h->first_slice[span->thread + 1];
	i = last_before(h, h->by_thread, h->first_slice[span->thread], end, span->start_ns + 1);
	for (i = i < end ? i : h->first_slice[span->thread]; i < end && from < span->end_ns; i++) {
		const struct slice *x = &h->slices[h->by_thread[i]];
		uint64_t to = x->start_ns < span->end_ns ? x->start_ns : span->end_ns;

		if (to > from)
			add_window(h, threads, x->cpu, span->thread, from, to, &o);
		from = x->end_ns > from ? x->end_ns : from;
	}
	if (o.count)
		qsort(o.list, o.count, sizeof *o.list, longest_first);
	for (size_t k = 0; k < o.count; k++) {
		ret->ns += o.list[k].ns;
		if (k < HISTORY_HOT)
			ret->threads[k] = o.list[k].thread;
	}
	free(o.list);
	map_free(&o.places);
}
