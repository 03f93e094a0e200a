/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "functions.h"

#include "base/alloc.h"
#include "function_sums.h"
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

/* What is rounded off of one function is the next one's: all are as much as they were. */
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

/* What a thread that goes by chunks has. */
struct walker {
	struct function_sums *sums;
	struct name_cache *cache;
	const struct span *span;
	struct function_lane lane;
} __attribute__((aligned(CACHE_LINE)));

static int begin(void *state, const struct chunk_header *h, struct error *err)
{
	struct walker *w = state;
	struct meter meter = { .span = w->span };

	(void)err;
	meter_begin(&meter, h);
	function_lane_begin(&w->lane, w->sums, w->cache, h->cpu, h->task, h->place, &meter, NULL);
	return 0;
}

static int batch(void *state, struct batch *b, struct error *err)
{
	struct walker *w = state;

	(void)err;
	function_sums_take_batch(w->sums, &w->lane, b);
	return 0;
}

int functions_analyse(const struct reader *r, const struct names *names, const struct span *span,
		      struct functions *ret, struct error *err)
{
	static const struct chunk_visitor visitor = { .brief = true, .begin = begin, .batch = batch };
	unsigned threads = walk_threads(), shift = ticks_shift(r);
	struct walker *walkers = xcalloc_aligned(CACHE_LINE, threads, sizeof *walkers);
	void **pointers = xcalloc(threads, sizeof *pointers);
	int result;

	for (unsigned i = 0; i < threads; i++) {
		walkers[i] = (struct walker){
			.sums = function_sums_new(names, shift), .cache = xmalloc(sizeof *walkers[i].cache), .span = span,
		};
		name_cache_init(walkers[i].cache, names);
		pointers[i] = &walkers[i];
	}
	result = walk_chunks(r, span, &visitor, pointers, threads, err);
	*ret = functions_new(names_count(names));
	for (unsigned i = 0; i < threads; i++) {
		function_sums_add(walkers[i].sums, ret);
		function_sums_free(walkers[i].sums);
		free(walkers[i].cache);
	}
	functions_round(ret, shift);
	free(walkers);
	free(pointers);
	if (result < 0)
		functions_deinit(ret);
	return result;
}
