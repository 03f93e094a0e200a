/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tallies count how often each phrase came (trace/phrases.h). The events of a phrase
 * add the same to the sums of functions each time. So what they add is looked up
 * once, and multiplied by the count when another tally needs the place, or at the end.
 */
#ifndef UPTO_ANALYSIS_TALLIES_H
#define UPTO_ANALYSIS_TALLIES_H

#include "base/alloc.h"
#include "functions.h"
#include "trace/phrases.h"

/* What one event of a phrase adds. */
struct tally_step {
	uint32_t function : 31; /* the function that it leads to */
	uint32_t entered : 1;
	uint32_t insns;         /* since the event before; they count for the function which that event led to */
};

/* Calls from one place to one function, with the same phrase behind them. */
struct tally {
	uint32_t serial;        /* of the phrase; 0: the tally is empty */
	uint32_t version;       /* version of the address space, if names depend on it; else 0 */
	uint64_t from;          /* of the calls */
	uint32_t callee;
	uint32_t end;           /* the function that the last step leads to */
	uint64_t steps;
	uint64_t calls;
	uint64_t ticks;         /* ticks per instruction, summed over the calls */
} __attribute__((aligned(CACHE_LINE)));

struct tallies {
	struct tally tallies[PHRASES];
	struct tally_step steps[PHRASES][PHRASE_EVENTS];
};

struct tallies *tallies_new(void);
void tallies_free(struct tallies *t);

/* Does a call from `from` to `callee`, with the phrase behind it, belong to the tally? */
static inline bool tally_is(const struct tally *t, uint32_t serial, uint64_t from, uint32_t version, uint32_t callee)
{
	return t->serial == serial && t->from == from && t->version == version && t->callee == callee;
}

/* Count a call, at a pace of `ticks` per instruction. Returns the function that its phrase ends in. */
static inline uint32_t tally_call(struct tally *tally, uint64_t ticks)
{
	tally->calls++;
	tally->ticks += ticks;
	return tally->end;
}

/* Add all tallies to the sums of functions and empty them, since other phrases may come into the same places. */
void tallies_settle(struct tallies *t, struct function_stat *stats);

/*
 * Add tally i to the sums of functions and empty it for another phrase. The caller adds the steps, and sets the members
 * that tally_is() compares when all steps are there: until then the tally matches no call.
 */
struct tally *tally_begin(struct tallies *t, unsigned i, struct function_stat *stats);
void tally_step(struct tallies *t, unsigned i, uint32_t function, bool entered, uint64_t insns);

#endif
