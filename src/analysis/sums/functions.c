/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "functions.h"

#include "base/alloc.h"

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
