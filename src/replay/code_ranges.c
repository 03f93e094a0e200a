/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "code_ranges.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/search.h"

void code_ranges_add(struct code_ranges *r, const struct code_range *range)
{
	uint64_t *last = map_put(&r->open, range->start, 0);

	r->list = array_grow(r->list, r->count, &r->cap, sizeof *r->list);
	r->list[r->count] = *range;
	r->list[r->count].to_ns = UINT64_MAX;
	r->list[r->count].before = *last;
	*last = ++r->count;
}

void code_ranges_end(struct code_ranges *r, uint64_t start, uint64_t ns, uint32_t boot)
{
	uint64_t *last = map_get(&r->open, start);
	struct code_range *range = last && *last ? &r->list[*last - 1] : NULL;

	if (!range || range->boot != boot)
		return;
	range->to_ns = ns;
	*last = range->before;
}

static int by_place(const void *va, const void *vb)
{
	const struct code_range *a = va, *b = vb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->end != b->end)
		return a->end < b->end ? -1 : 1;
	if (a->boot != b->boot)
		return a->boot < b->boot ? -1 : 1;
	return a->from_ns < b->from_ns ? -1 : a->from_ns > b->from_ns;
}

static bool is_same_place(const struct code_range *a, const struct code_range *b)
{
	return a->start == b->start && a->end == b->end && a->boot == b->boot;
}

void code_ranges_sort(struct code_ranges *r)
{
	map_free(&r->open);
	if (r->count)
		qsort(r->list, r->count, sizeof *r->list, by_place);
	for (size_t i = 0; i < r->count; i++) {
		struct code_range *range = &r->list[i], *last = i ? range - 1 : NULL;
		bool goes_on = last && is_same_place(last, range);

		range->first = goes_on ? last->first : i;
		range->lasts_ns = goes_on && last->lasts_ns > range->to_ns ? last->lasts_ns : range->to_ns;
		range->highest = last && last->highest > range->end ? last->highest : range->end;
	}
}

void code_ranges_deinit(struct code_ranges *r)
{
	map_free(&r->open);
	free(r->list);
}

/* How many ranges begin at or below the address. */
static size_t count_up_to(const struct code_ranges *r, uint64_t addr)
{
	return first_not(i, 0, r->count, r->list[i].start <= addr);
}

/* Of two that hold the address, the one that counts then; `a` may be NULL. */
static const struct code_range *better(const struct code_range *a, const struct code_range *b, uint64_t ns)
{
	bool a_now, b_now;

	if (!a)
		return b;
	a_now = a->from_ns <= ns && ns < a->to_ns;
	b_now = b->from_ns <= ns && ns < b->to_ns;
	if (a_now != b_now)
		return a_now ? a : b;
	if (a_now)
		return a->from_ns >= b->from_ns ? a : b;
	if ((a->from_ns > ns) != (b->from_ns > ns))
		return a->from_ns > ns ? a : b;
	return a->from_ns < b->from_ns ? a : b;
}

/* Of those of the same addresses and boot, from number `first` up to before `end`, the one that counts then. */
static const struct code_range *best_of(const struct code_ranges *r, size_t first, size_t end, uint64_t ns)
{
	const struct code_range *best = &r->list[first];
	size_t low = first_not(i, first, end, r->list[i].from_ns <= ns);

	if (low < end)
		best = better(best, &r->list[low], ns);
	for (size_t i = low; i > first && r->list[i - 1].lasts_ns > ns; i--)
		if (r->list[i - 1].to_ns > ns)
			return better(best, &r->list[i - 1], ns);
	return best;
}

const struct code_range *code_ranges_find(const struct code_ranges *r, uint64_t addr, uint64_t ns, size_t boot,
					  bool *ret_only)
{
	const struct code_range *best = NULL;
	size_t end = count_up_to(r, addr), n = 0;

	while (end && r->list[end - 1].highest > addr) {
		const struct code_range *last = &r->list[end - 1];

		if (addr < last->end && last->boot == boot) {
			best = better(best, best_of(r, last->first, end, ns), ns);
			n += end - last->first;
		}
		end = last->first;
	}
	*ret_only = n == 1;
	return best;
}
