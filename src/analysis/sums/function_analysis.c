/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "function_analysis.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "function_sums.h"
#include "left_functions.h"
#include "replay/walk.h"
#include "shown_sums.h"
#include "ticks.h"

/* The state at the end of a chunk. */
struct chunk_end {
	bool seen;
	uint64_t insns;
	uint32_t function;
	struct orphan *orphan; /* it is the thunk of that one; NULL: it is no orphan */
	struct cut_in *cut_in; /* by interrupts under way; NULL: none */
	unsigned n_cut_in;
};

/* The state of a host thread that walks chunks. */
struct walker {
	struct function_sums *sums;
	struct name_cache *cache;
	const struct span *span;
	struct function_lane lane;
	struct chunk_end *ends; /* of all chunks, by number; shared by all walkers */
	size_t chunk;           /* number of the one that is walked, or was last … */
	bool begun;             /* … if there is one */
	struct orphan **orphans;
	size_t n_orphans, cap_orphans;
} __attribute__((aligned(CACHE_LINE)));

static struct orphan *add_orphan(struct walker *w, const struct chunk_header *h)
{
	struct orphan *orphan = xcalloc(1, sizeof *orphan);

	*orphan = (struct orphan){ .chunk = h->number, .at_insns = h->first_insns, .thunk = w->lane.function };
	w->orphans = array_grow(w->orphans, w->n_orphans, &w->cap_orphans, sizeof *w->orphans);
	w->orphans[w->n_orphans++] = orphan;
	return orphan;
}

static int begin(void *state, const struct chunk_header *h, struct error *err)
{
	struct walker *w = state;
	struct meter meter = { .span = w->span };
	const struct function_lane before = w->lane;
	bool goes_on = w->begun && before.cpu == h->cpu && before.meter.insns == h->first_insns;
	bool in_thunk;

	(void)err;
	w->begun = true;
	w->chunk = h->number;
	meter_begin(&meter, h);
	function_lane_begin(&w->lane, w->sums, w->cache, h->cpu, h->task, h->place, &meter, NULL);
	in_thunk = names_is_thunk(w->cache->names, w->lane.function);
	if (goes_on) {
		memcpy(w->lane.cut_in, before.cut_in, sizeof before.cut_in);
		w->lane.n_cut_in = before.n_cut_in;
		w->lane.spare = before.spare;
		w->lane.orphan = before.orphan;
	} else {
		w->lane.spare = add_orphan(w, h);
	}
	if (in_thunk && goes_on)
		w->lane.function = before.function;
	else if (in_thunk)
		w->lane.orphan = add_orphan(w, h);
	return 0;
}

static int end(void *state, struct error *err)
{
	struct walker *w = state;
	struct chunk_end *now = &w->ends[w->chunk];

	(void)err;
	*now = (struct chunk_end){
		.seen = true, .insns = w->lane.meter.insns, .function = w->lane.function, .orphan = w->lane.orphan,
		.n_cut_in = w->lane.n_cut_in,
	};
	now->cut_in = xcalloc(w->lane.n_cut_in, sizeof *w->lane.cut_in);
	memcpy(now->cut_in, w->lane.cut_in, w->lane.n_cut_in * sizeof *w->lane.cut_in);
	return 0;
}

/*
 * What is known on a vCPU where a chunk begins: the end of the one before it, and the interrupts under way since chunks
 * before that, of which some may be over.
 */
struct chunks_so_far {
	const struct chunk_end *end; /* NULL: there is none */
	struct function_lane cut;    /* only its cut_in */
};

static const struct cut_in *find_cut_in(const struct function_lane *cut, uint64_t task, uint64_t from)
{
	for (unsigned i = cut->n_cut_in; i-- > 0;)
		if (cut->cut_in[i].task == task && cut->cut_in[i].from == from)
			return &cut->cut_in[i];
	return NULL;
}

static void pass_chunk(struct chunks_so_far *so_far, const struct chunk_end *end)
{
	so_far->end = end;
	for (unsigned i = 0; i < end->n_cut_in; i++) {
		const struct cut_in *c = &end->cut_in[i];
		const struct cut_in *known = find_cut_in(&so_far->cut, c->task, c->from);

		if (!known || known->function != c->function || known->orphan != c->orphan)
			function_lane_cut_in(&so_far->cut, c);
	}
}

static uint32_t function_of(uint32_t function, const struct orphan *orphan)
{
	return orphan ? orphan->parent : function;
}

/* Who led to an orphan; the thunk itself, if that is not known. */
static uint32_t parent_of(const struct chunks_so_far *so_far, const struct orphan *o)
{
	const struct chunk_end *end = so_far->end;
	const struct cut_in *cut;

	if (!end || !end->seen || end->insns != o->at_insns)
		return o->thunk;
	if (!o->came_back)
		return function_of(end->function, end->orphan);
	cut = find_cut_in(&so_far->cut, o->task, o->from);
	return cut ? function_of(cut->function, cut->orphan) : o->thunk;
}

static void settle_orphan(const struct orphan *o, struct functions *sum)
{
	struct function_stat *from = &sum->stats[o->thunk], *to = &sum->stats[o->parent];

	from->self_insns -= o->insns;
	from->self_ns -= o->ticks;
	to->self_insns += o->insns;
	to->self_ns += o->ticks;
}

/*
 * A function that was entered from a thunk first: from an orphan, as all others are folded. It is the one of that vCPU
 * that began last.
 */
static void settle_first(struct function_first *first, struct orphan **orphans, size_t n, const struct reader *r)
{
	const struct orphan *last = NULL;

	for (size_t i = 0; i < n; i++) {
		const struct orphan *o = orphans[i];

		if (o->thunk == first->caller && r->chunks[o->chunk].header.cpu == first->cpu &&
		    o->at_insns <= first->insns && (!last || o->at_insns >= last->at_insns))
			last = o;
	}
	if (last)
		first->caller = last->parent;
}

static int by_chunk(const void *a, const void *b)
{
	const struct orphan *x = *(struct orphan *const *)a, *y = *(struct orphan *const *)b;

	return x->chunk == y->chunk ? 0 : x->chunk < y->chunk ? -1 : 1;
}

/* All walkers' orphans, by chunk. */
static struct orphan **list_orphans(const struct walker *walkers, unsigned n_walkers, size_t *n)
{
	struct orphan **list;

	*n = 0;
	for (unsigned i = 0; i < n_walkers; i++)
		*n += walkers[i].n_orphans;
	list = xcalloc(*n + 1, sizeof *list);
	*n = 0;
	for (unsigned i = 0; i < n_walkers; i++)
		for (size_t k = 0; k < walkers[i].n_orphans; k++)
			list[(*n)++] = walkers[i].orphans[k];
	qsort(list, *n, sizeof *list, by_chunk);
	return list;
}

/* Move orphans' times, and what they called, to the functions that called the thunks. */
static void settle_orphans(const struct walker *walkers, unsigned n_walkers, const struct reader *r,
			   const struct names *names, const struct chunk_end *ends, struct functions *sum)
{
	struct chunks_so_far *so_far = xcalloc(reader_vcpus(r), sizeof *so_far);
	size_t n, next = 0;
	struct orphan **orphans = list_orphans(walkers, n_walkers, &n);

	for (size_t i = 0; i < r->n_chunks; i++) {
		const struct chunk_header *h = &r->chunks[i].header;

		if (h->type != CHUNK_EVENTS)
			continue;
		for (; next < n && orphans[next]->chunk == i; next++) {
			orphans[next]->parent = parent_of(&so_far[h->cpu], orphans[next]);
			settle_orphan(orphans[next], sum);
		}
		pass_chunk(&so_far[h->cpu], &ends[i]);
	}
	for (size_t i = 0; i < sum->count; i++)
		if (sum->stats[i].first_ns != UINT64_MAX && names_is_thunk(names, sum->firsts[i].caller))
			settle_first(&sum->firsts[i], orphans, n, r);
	free(orphans);
	free(so_far);
}

static void walker_deinit(struct walker *w)
{
	function_sums_free(w->sums);
	for (size_t i = 0; i < w->n_orphans; i++)
		free(w->orphans[i]);
	free(w->orphans);
	free(w->cache);
}

static int batch(void *state, struct batch *b, struct error *err)
{
	struct walker *w = state;

	(void)err;
	function_sums_count_batch(w->sums, &w->lane, b);
	return 0;
}

static int of_events(const struct session *session, const struct span *span, struct functions *ret, struct error *err)
{
	const struct reader *r = session->reader;
	const struct names *names = session->names;
	static const struct chunk_visitor visitor = { .brief = true, .begin = begin, .batch = batch, .end = end };
	unsigned threads = walk_threads(), shift = ticks_shift(r);
	struct walker *walkers = xcalloc_aligned(CACHE_LINE, threads, sizeof *walkers);
	struct chunk_end *ends = xcalloc(r->n_chunks + 1, sizeof *ends);
	void **pointers = xcalloc(threads, sizeof *pointers);
	int result;

	for (unsigned i = 0; i < threads; i++) {
		walkers[i] = (struct walker){
			.sums = function_sums_new(session, shift), .cache = xmalloc(sizeof *walkers[i].cache),
			.span = span,
			.ends = ends,
		};
		name_cache_init(walkers[i].cache, names);
		pointers[i] = &walkers[i];
	}
	result = walk_chunks(r, span, &visitor, pointers, threads, err);
	*ret = functions_new(names_count(names));
	for (unsigned i = 0; i < threads; i++)
		function_sums_add(walkers[i].sums, ret);
	settle_orphans(walkers, threads, r, names, ends, ret);
	for (unsigned i = 0; i < threads; i++)
		walker_deinit(&walkers[i]);
	functions_round(ret, shift);
	if (result == 0 && span_is_all(span))
		result = left_functions_add(r, names, ret, err);
	for (size_t i = 0; i < r->n_chunks; i++)
		free(ends[i].cut_in);
	free(ends);
	free(walkers);
	free(pointers);
	if (result < 0)
		functions_deinit(ret);
	return result;
}

int functions_analyse(const struct session *session, const struct span *span, struct functions *ret, struct error *err)
{
	return (session->fold ? shown_functions_analyse : of_events)(session, span, ret, err);
}
