/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "modules.h"

#include "base/alloc.h"

enum { NUMBER_SHIFT = 32 }; /* numbers: the module's + 1 above the function's */

struct range {
	uint64_t start, end;
	size_t number;
};

/* In order of addresses. */
struct module_ranges {
	size_t count;
	struct range list[];
};

/* A copy without [start, end), and room for as many more. */
static struct module_ranges *without(const struct module_ranges *old, uint64_t start, uint64_t end, size_t more)
{
	size_t count = old ? old->count : 0;
	struct module_ranges *new = xcalloc(1, sizeof *new + (count + more) * sizeof *new->list);

	for (size_t i = 0; i < count; i++)
		if (old->list[i].end <= start || old->list[i].start >= end)
			new->list[new->count++] = old->list[i];
	return new;
}

static void insert(struct module_ranges *r, struct range range)
{
	size_t i = r->count++;

	for (; i && r->list[i - 1].start > range.start; i--)
		r->list[i] = r->list[i - 1];
	r->list[i] = range;
}

static void publish(struct modules *m, const struct module_ranges *ranges)
{
	__atomic_store_n(&m->ranges, ranges, __ATOMIC_RELEASE);
}

void modules_add(struct modules *m, struct symtab *tab)
{
	if (m->count == MODULES_MAX) {
		symtab_deinit(tab);
		return;
	}
	m->tabs[m->count] = xmalloc(sizeof *tab);
	*m->tabs[m->count] = *tab;
	/* section 0 stands for "none" */
	for (size_t i = 1; i < tab->n_sections; i++) {
		struct range range = { tab->sections[i].addr, tab->sections[i].end, m->count };
		struct module_ranges *ranges = without(m->ranges, range.start, range.end, 1);

		insert(ranges, range);
		publish(m, ranges);
	}
	m->count++;
}

void modules_free(struct modules *m, uint64_t start)
{
	for (size_t i = 0; m->ranges && i < m->ranges->count; i++)
		if (m->ranges->list[i].start == start) {
			publish(m, without(m->ranges, start, m->ranges->list[i].end, 0));
			break;
		}
}

long modules_function(const struct modules *m, uint64_t addr)
{
	const struct module_ranges *r = __atomic_load_n(&m->ranges, __ATOMIC_ACQUIRE);
	size_t low = 0, high = r ? r->count : 0;
	long i;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (r->list[mid].start <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || addr >= r->list[low - 1].end)
		return SYMTAB_NONE;
	i = symtab_lookup(m->tabs[r->list[low - 1].number], addr);
	return i == SYMTAB_NONE ? SYMTAB_NONE : (long)(r->list[low - 1].number + 1) << NUMBER_SHIFT | i;
}

const struct symbol *modules_symbol(const struct modules *m, long function)
{
	return &m->tabs[(function >> NUMBER_SHIFT) - 1]->symbols[function & ((1L << NUMBER_SHIFT) - 1)];
}
