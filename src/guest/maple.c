/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "maple.h"

#include <string.h>

enum {
	NODE_BYTES = 256,      /* and nodes are aligned to it */
	DEPTH_MAX = 31,        /* MAPLE_HEIGHT_MAX */
	TYPE_SHIFT = 3,        /* MAPLE_NODE_TYPE_SHIFT, … */
	TYPE_MASK = 0x0f,
	LEAF = 1, RANGE = 2, RANGE_WITH_GAPS = 3, /* enum maple_type */
	PIVOTS_AT = 8,         /* behind the parent */
	SLOTS = 16, SLOTS_WITH_GAPS = 10,
	INTERNAL = 2,          /* xa_is_internal(), include/linux/xarray.h */
	INTERNAL_MASK = 3,
};

struct walk {
	const struct maple_reader *r;
	size_t nodes;
	bool enough;
};

static uint64_t word(const uint8_t *node, size_t at)
{
	uint64_t value;

	memcpy(&value, node + at, sizeof value);
	return value;
}

static void each_of(struct walk *w, uint64_t encoded, uint64_t max, unsigned depth)
{
	uint8_t node[NODE_BYTES];
	unsigned type = encoded >> TYPE_SHIFT & TYPE_MASK;
	size_t slots = type == RANGE_WITH_GAPS ? SLOTS_WITH_GAPS : SLOTS, slots_at = PIVOTS_AT + 8 * (slots - 1);

	if (type < LEAF || type > RANGE_WITH_GAPS || depth == DEPTH_MAX || w->nodes++ == w->r->max ||
	    !w->r->read(w->r->state, encoded & ~(uint64_t)(NODE_BYTES - 1), node, sizeof node)) {
		w->enough |= w->nodes > w->r->max;
		return;
	}
	for (size_t i = 0; i < slots && !w->enough; i++) {
		/* the last pivot is that of the node above, and need not stand here */
		uint64_t pivot = i + 1 < slots ? word(node, PIVOTS_AT + 8 * i) : max;
		uint64_t slot = word(node, slots_at + 8 * i);
		bool last = pivot >= max || (i && !pivot);

		if (type != LEAF)
			each_of(w, slot, last ? max : pivot, depth + 1);
		else if (slot && (slot & INTERNAL_MASK) != INTERNAL)
			w->enough |= !w->r->entry(w->r->state, slot);
		if (last)
			break;
	}
}

void maple_each(const struct maple_reader *r, uint64_t root)
{
	struct walk w = { .r = r };

	if ((root & INTERNAL_MASK) == INTERNAL)
		each_of(&w, root, UINT64_MAX, 0);
	else if (root)
		r->entry(r->state, root);
}
