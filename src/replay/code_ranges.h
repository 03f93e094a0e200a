/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where modules were, and when. A module that comes and goes many times, at the same addresses or at others, is looked
 * up by address and time in about as many steps as a search takes.
 */
#ifndef UPTO_REPLAY_CODE_RANGES_H
#define UPTO_REPLAY_CODE_RANGES_H

#include "base/map.h"

/* Addresses of a module from its loading on. */
struct code_range {
	uint64_t start, end;
	uint64_t from_ns, to_ns; /* it was loaded, and freed: UINT64_MAX: never */
	uint32_t object;         /* the caller's */
	uint32_t boot;           /* number of the boot */
	size_t before;           /* while they are added: number + 1 of the one before it that began there; 0: none */
	/* once they are sorted: where those of the same addresses and boot begin, and of these up to this one … */
	size_t first;
	uint64_t lasts_ns;       /* … the latest end in time */
	uint64_t highest;        /* the highest end of any range up to this one */
};

struct code_ranges {
	struct code_range *list;
	size_t count, cap;
	struct map open;         /* start → number + 1 of the last range that began there and was not freed */
};

void code_ranges_add(struct code_ranges *r, const struct code_range *range);

/* What begins there, of that boot, was freed then. */
void code_ranges_end(struct code_ranges *r, uint64_t start, uint64_t ns, uint32_t boot);

/* All are added: from now on they may be looked up. */
void code_ranges_sort(struct code_ranges *r);
void code_ranges_deinit(struct code_ranges *r);

/*
 * The range that holds the address in that boot: that of the module that was there at that time, the one that came
 * last; else the one that comes next, since a module's parameters are set before it can be known; else one that was
 * there before. NULL: none ever. *ret_only: no other one ever does.
 */
const struct code_range *code_ranges_find(const struct code_ranges *r, uint64_t addr, uint64_t ns, size_t boot,
					  bool *ret_only);

#endif
