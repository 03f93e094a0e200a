/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ticks.h"

unsigned ticks_shift(const struct reader *r)
{
	unsigned shift = TIMEBASE_SHIFT;
	uint64_t all = 0, last = 0;

	for (size_t i = 0; i < r->n_chunks; i++) {
		const struct chunk_header *h = &r->chunks[i].header;

		if (h->type != CHUNK_EVENTS || h->last_ns < h->first_ns)
			continue;
		if (__builtin_add_overflow(all, h->last_ns - h->first_ns, &all))
			return 0;
		last |= h->last_ns;
	}
	while (shift && (all | last) >> (63 - shift))
		shift--;
	return shift;
}
