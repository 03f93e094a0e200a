/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check_flow.h"

#include <inttypes.h>

/*
 * Of 12 to 30 million pairs in the kernel, 0 to 5 do not join: code that was translated before it was known that it
 * must be watched.
 */
enum { WITHIN_FREE = 10, WITHIN_OF = 1000000 };

static void flow_break(struct flow_break *b, uint32_t left, uint32_t found, const struct check_place *at)
{
	if (b->count++)
		return;
	b->first = *at;
	b->left = left;
	b->found = found;
}

static uint32_t function_at(struct name_cache *cache, uint64_t addr, uint64_t ns)
{
	struct space_view none = { 0 };

	return name_cache_place(cache, &none, 0, addr, ns).function;
}

/* The address of the event's instruction; 0: not known. */
static uint64_t stands_at(const struct flow_check *f, const struct event *e)
{
	uint64_t addr;

	switch (e->kind) {
	case EVENT_CALL:
	case EVENT_CALL_INDIRECT:
		return e->from - 1; /* the return address may be in the next function */
	case EVENT_JUMP:
	case EVENT_JUMP_INDIRECT:
	case EVENT_INTERRUPT:
		return e->from;
	default:
		/* the address at which it was first seen; kernel code has only one mapping */
		addr = sites_get(&f->reader->sites, e->site)->addr;
		return addr_is_kernel(addr) ? addr : 0;
	}
}

void flow_add(struct flow_check *f, struct name_cache *cache, const struct event *e, uint64_t place,
	      const struct check_place *at)
{
	uint64_t stands = stands_at(f, e);
	uint32_t left, found;

	if (!stands || (!addr_is_kernel(place) && !addr_is_kernel(stands)))
		return;
	f->joints++;
	left = function_at(cache, place, e->ns);
	found = function_at(cache, stands, e->ns);
	if (__builtin_expect(left == found, 1))
		return;
	/*
	 * where their steps are not recorded, control is in a thunk unseen, and only what cuts in there or is told of
	 * there shows it
	 */
	if (f->thunks && (f->thunks[left] || f->thunks[found]))
		return;
	flow_break(&f->breaks[addr_is_kernel(place) && addr_is_kernel(stands) ? FLOW_WITHIN : FLOW_ACROSS], left, found,
		   at);
}

static void report(const struct flow_break *b, uint64_t allowed, const struct names *names, struct check *c)
{
	if (b->count > allowed)
		check_found_at(c, CHECK_FLOW, b->count, &b->first,
			       "control is in %.80s, and the next event is in %.80s", names_function(names, b->left),
			       names_function(names, b->found));
}

void flow_end(const struct flow_check *f, const struct names *names, struct check *c)
{
	uint64_t late = meta_get_u64(&f->reader->meta, "late_arrivals", 0);

	report(&f->breaks[FLOW_WITHIN], WITHIN_FREE + late + f->joints / WITHIN_OF, names, c);
	report(&f->breaks[FLOW_ACROSS], 0, names, c);
}
