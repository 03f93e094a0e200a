/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "script_worth.h"

#include "base/alloc.h"
#include "replay/index.h"

bool script_fires_by_calls(const struct script_runner *r)
{
	const struct script_places *p = &r->places;

	if (script_index_any(&p->calls) || script_index_any(&p->results) ||
	    script_index_has(&p->others, OTHER_SWITCH) || script_index_has(&p->others, OTHER_FAULT))
		return false;
	for (size_t i = 0; i < p->n_timers; i++)
		if (p->timers[i].each_cpu) /* what it interrupts is known by replay alone */
			return false;
	return true;
}

bool *script_asked_functions(const struct script_runner *r)
{
	size_t n = names_count(r->o->session->names);
	bool *marks = xcalloc(n, sizeof *marks);

	for (size_t i = 0; i < n; i++)
		marks[i] = script_index_has(&r->places.entries, i) || script_index_has(&r->places.returns, i);
	return marks;
}

uint64_t script_end_of_entry(const struct script_runner *r, size_t entry)
{
	const struct index *x = r->o->session->index;

	return entry + 1 < x->count ? x->entries[entry + 1].ns : UINT64_MAX;
}

bool script_is_worth(struct script_runner *r, size_t entry)
{
	uint64_t end = script_end_of_entry(r, entry);
	bool is_asked = end > r->o->from_ns || script_index_any(&r->places.returns), is_timer;

	return (is_asked && index_has(r->o->session->index, entry, r->functions)) ||
	       (script_next_beside(r, &is_timer) < end && !is_timer);
}

bool script_is_seldom(struct script_runner *r)
{
	const struct index *x = r->o->session->index;
	size_t worth = 0;

	for (size_t i = 0; x && i < x->count; i++)
		worth += script_is_worth(r, i);
	return x && worth < x->count / 2;
}
