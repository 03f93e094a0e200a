/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tallies.h"

struct tallies *tallies_new(void)
{
	return xcalloc_aligned(HUGE_PAGE, 1, sizeof(struct tallies));
}

void tallies_free(struct tallies *t)
{
	free(t);
}

static void spend(struct tallies *t, unsigned i, struct function_stat *stats)
{
	struct tally *tally = &t->tallies[i];
	uint32_t function = tally->callee;

	if (!tally->calls)
		return;
	for (unsigned k = 0; k < tally->steps; k++) {
		const struct tally_step *step = &t->steps[i][k];

		stats[function].self_insns += tally->calls * step->insns;
		stats[function].self_ns += tally->ticks * step->insns;
		function = step->function;
		stats[function].calls += step->entered * tally->calls;
	}
	tally->calls = tally->ticks = 0;
}

void tallies_settle(struct tallies *t, struct function_stat *stats)
{
	for (unsigned i = 0; i < PHRASES; i++)
		spend(t, i, stats);
	memset(t->tallies, 0, sizeof t->tallies);
}

struct tally *tally_begin(struct tallies *t, unsigned i, struct function_stat *stats)
{
	spend(t, i, stats);
	t->tallies[i] = (struct tally){ 0 };
	return &t->tallies[i];
}

void tally_step(struct tallies *t, unsigned i, uint32_t function, bool entered, uint64_t insns)
{
	struct tally *tally = &t->tallies[i];

	t->steps[i][tally->steps++] = (struct tally_step){
		.function = function, .entered = entered, .insns = (uint32_t)insns,
	};
	tally->end = function;
}
