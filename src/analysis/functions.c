/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "functions.h"

#include "base/alloc.h"
#include "function_sums.h"
#include "left_functions.h"
#include "ticks.h"

struct functions functions_new(size_t count)
{
	struct functions f = {
		.stats = xcalloc(count, sizeof *f.stats), .firsts = xcalloc(count, sizeof *f.firsts), .count = count,
	};

	for (size_t i = 0; i < count; i++)
		f.stats[i].first_ns = f.firsts[i].insns = UINT64_MAX;
	return f;
}

void functions_deinit(struct functions *f)
{
	free(f->stats);
	free(f->firsts);
	*f = (struct functions){ 0 };
}

void function_take_first(struct function_stat *stat, struct function_first *first, uint64_t ns,
			 const struct function_first *other)
{
	if (ns > stat->first_ns || (ns == stat->first_ns && other->insns >= first->insns))
		return;
	stat->first_ns = ns;
	*first = *other;
}

void functions_add(struct functions *sum, const struct functions *part)
{
	for (size_t i = 0; i < sum->count; i++) {
		struct function_stat *a = &sum->stats[i];
		const struct function_stat *b = &part->stats[i];

		a->calls += b->calls;
		a->self_insns += b->self_insns;
		a->self_ns += b->self_ns;
		function_take_first(a, &sum->firsts[i], b->first_ns, &part->firsts[i]);
		sum->insns += b->self_insns;
	}
	sum->halted_ns += part->halted_ns;
	sum->events += part->events;
}

/* What is rounded off for one function goes to the next one, so that the sum stays the same. */
void functions_round(struct functions *sum, unsigned ticks_shift)
{
	uint64_t rest = 0;

	for (size_t i = 0; i < sum->count; i++) {
		struct function_stat *stat = &sum->stats[i];
		uint64_t ticks = stat->self_ns + (stat->self_ns ? rest : 0);

		if (stat->self_ns)
			rest = ticks & ((UINT64_C(1) << ticks_shift) - 1);
		stat->self_ns = ticks >> ticks_shift;
		sum->ns += stat->self_ns;
	}
	sum->halted_ns >>= ticks_shift;
}

/* The state at the end of a chunk. */
struct chunk_end {
	bool seen;
	uint64_t insns;
	uint32_t function;
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
		.seen = true, .insns = w->lane.meter.insns, .function = w->lane.function, .n_cut_in = w->lane.n_cut_in,
	};
	now->cut_in = xcalloc(w->lane.n_cut_in, sizeof *w->lane.cut_in);
	memcpy(now->cut_in, w->lane.cut_in, w->lane.n_cut_in * sizeof *w->lane.cut_in);
	return 0;
}

/* Who led to an orphan, as known where the chunk before it ends; the thunk itself, if that is not. */
static uint32_t parent_at(const struct chunk_end *end, const struct orphan *o)
{
	if (!o->came_back)
		return end->function;
	for (unsigned i = end->n_cut_in; i-- > 0;)
		if (end->cut_in[i].task == o->task && end->cut_in[i].from == o->from)
			return end->cut_in[i].function;
	return o->thunk;
}

/* By number of a chunk of events: that of its vCPU's chunk before it; 0: there is none (chunk 0 has no events). */
static size_t *chunks_before(const struct reader *r)
{
	size_t *before = xcalloc(r->n_chunks + 1, sizeof *before), *last = xcalloc(CPUS_MAX, sizeof *last);

	for (size_t i = 0; i < r->n_chunks; i++) {
		const struct chunk_header *h = &r->chunks[i].header;

		if (h->type != CHUNK_EVENTS)
			continue;
		before[i] = last[h->cpu];
		last[h->cpu] = i;
	}
	free(last);
	return before;
}

static uint32_t parent_of(const struct chunk_end *before, const struct orphan *o)
{
	return before->seen && before->insns == o->at_insns ? parent_at(before, o) : o->thunk;
}

/* Move orphans' times to the functions that called the thunks. */
static void settle_orphans(const struct walker *walkers, unsigned n, const struct reader *r, struct functions *sum)
{
	size_t *before = chunks_before(r);

	for (unsigned i = 0; i < n; i++)
		for (size_t k = 0; k < walkers[i].n_orphans; k++) {
			const struct orphan *o = walkers[i].orphans[k];
			struct function_stat *from, *to;

			if (!o->insns && !o->ticks)
				continue;
			from = &sum->stats[o->thunk];
			to = &sum->stats[parent_of(&walkers[i].ends[before[o->chunk]], o)];

			from->self_insns -= o->insns;
			from->self_ns -= o->ticks;
			to->self_insns += o->insns;
			to->self_ns += o->ticks;
		}
	free(before);
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

int functions_analyse(const struct reader *r, const struct names *names, const struct span *span,
		      struct functions *ret, struct error *err)
{
	static const struct chunk_visitor visitor = { .brief = true, .begin = begin, .batch = batch, .end = end };
	unsigned threads = walk_threads(), shift = ticks_shift(r);
	struct walker *walkers = xcalloc_aligned(CACHE_LINE, threads, sizeof *walkers);
	struct chunk_end *ends = xcalloc(r->n_chunks + 1, sizeof *ends);
	void **pointers = xcalloc(threads, sizeof *pointers);
	int result;

	for (unsigned i = 0; i < threads; i++) {
		walkers[i] = (struct walker){
			.sums = function_sums_new(names, shift), .cache = xmalloc(sizeof *walkers[i].cache), .span = span,
			.ends = ends,
		};
		name_cache_init(walkers[i].cache, names);
		pointers[i] = &walkers[i];
	}
	result = walk_chunks(r, span, &visitor, pointers, threads, err);
	*ret = functions_new(names_count(names));
	for (unsigned i = 0; i < threads; i++)
		function_sums_add(walkers[i].sums, ret);
	settle_orphans(walkers, threads, r, ret);
	for (unsigned i = 0; i < threads; i++)
		walker_deinit(&walkers[i]);
	functions_round(ret, shift);
	if (result == 0 && !span->from_ns && span->to_ns == UINT64_MAX && span->cpu < 0)
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
