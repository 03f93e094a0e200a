/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "modules.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/search.h"
#include "recorder/limits.h"

enum { NUMBER_SHIFT = 32 }; /* numbers: the module's + 1 above the function's */

struct range {
	uint64_t start, end;
	size_t number;
};

/* In order of addresses. */
struct module_ranges {
	struct module_ranges *older; /* that somebody may still read */
	size_t count;
	struct range list[];
};

/* A copy, with room for as many more. */
static struct module_ranges *copy(const struct module_ranges *old, size_t more)
{
	size_t count = old ? old->count : 0;
	struct module_ranges *new = xcalloc(1, sizeof *new + (count + more) * sizeof *new->list);

	if (count)
		memcpy(new->list, old->list, count * sizeof *new->list);
	new->count = count;
	return new;
}

static void take_out(struct module_ranges *r, uint64_t start, uint64_t end)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->count; i++)
		if (r->list[i].end <= start || r->list[i].start >= end)
			r->list[kept++] = r->list[i];
	r->count = kept;
}

static void insert(struct module_ranges *r, struct range range)
{
	size_t i = r->count++;

	for (; i && r->list[i - 1].start > range.start; i--)
		r->list[i] = r->list[i - 1];
	r->list[i] = range;
}

/* Who begins to read from now on reads the new list; so without a reader now, nobody has an older one. */
static void publish(struct modules *m, struct module_ranges *ranges)
{
	if (m->ranges)
		ranges->older = m->ranges;
	__atomic_store_n(&m->ranges, ranges, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&m->readers, __ATOMIC_SEQ_CST))
		return;
	while (ranges->older) {
		struct module_ranges *old = ranges->older;

		ranges->older = old->older;
		free(old);
	}
}

void modules_add(struct modules *m, struct symtab *tab)
{
	struct module_ranges *ranges;

	if (m->count == MODULES_MAX) {
		limits_reached(LIMIT_MODULES);
		symtab_deinit(tab);
		return;
	}
	m->tabs[m->count] = xmalloc(sizeof *tab);
	*m->tabs[m->count] = *tab;
	ranges = copy(m->ranges, tab->n_sections);
	/* section 0 stands for "none" */
	for (size_t i = 1; i < tab->n_sections; i++) {
		struct range range = { tab->sections[i].addr, tab->sections[i].end, m->count };

		take_out(ranges, range.start, range.end);
		insert(ranges, range);
	}
	m->count++;
	publish(m, ranges);
}

void modules_free(struct modules *m, uint64_t start)
{
	for (size_t i = 0; m->ranges && i < m->ranges->count; i++)
		if (m->ranges->list[i].start == start) {
			struct module_ranges *ranges = copy(m->ranges, 0);

			take_out(ranges, start, ranges->list[i].end);
			publish(m, ranges);
			break;
		}
}

static const struct range *find_range(const struct module_ranges *r, uint64_t addr)
{
	size_t low = first_not(i, 0, r ? r->count : 0, r->list[i].start <= addr);

	return low && addr < r->list[low - 1].end ? &r->list[low - 1] : NULL;
}

long modules_function(struct modules *m, uint64_t addr)
{
	const struct range *range;
	size_t number = 0;
	long i;

	__atomic_add_fetch(&m->readers, 1, __ATOMIC_SEQ_CST);
	range = find_range(__atomic_load_n(&m->ranges, __ATOMIC_SEQ_CST), addr);
	if (range)
		number = range->number;
	__atomic_sub_fetch(&m->readers, 1, __ATOMIC_SEQ_CST);
	if (!range)
		return SYMTAB_NONE;
	i = symtab_lookup(m->tabs[number], addr);
	return i == SYMTAB_NONE ? SYMTAB_NONE : (long)(number + 1) << NUMBER_SHIFT | i;
}

static long own_number(long function)
{
	return function & ((1L << NUMBER_SHIFT) - 1);
}

const struct symbol *modules_symbol(const struct modules *m, long function)
{
	return &m->tabs[modules_number(function)]->symbols[own_number(function)];
}

const char *modules_name(const struct modules *m, long function)
{
	return symtab_name(m->tabs[modules_number(function)], own_number(function));
}
