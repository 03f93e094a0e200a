/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How often phrases came (trace/phrases.h). A phrase's events do the same to
 * the sums of functions each time: that is looked up once, and multiplied when
 * the phrase's place is needed for another tally, or at the end.
 */
#ifndef UPTO_ANALYSIS_TALLIES_H
#define UPTO_ANALYSIS_TALLIES_H

#include "base/alloc.h"
#include "functions.h"
#include "trace/phrases.h"

/* What one event does. */
struct tally_step {
	uint32_t function : 31; /* that it leads to */
	uint32_t entered : 1;
	uint32_t insns;         /* since the event before, in the function that that one led to */
};

/* Calls from one place whose phrase came, all made by the same function and going to the same. */
struct tally {
	uint32_t serial;        /* of the phrase; 0: there is none */
	uint32_t version;       /* of the address space, where that matters to names; else 0 */
	uint64_t from;          /* of the calls */
	uint32_t callee;
	uint32_t end;           /* the function that the last step leads to */
	uint64_t steps;
	uint64_t calls;
	uint64_t ticks;         /* the sum of what an instruction took in each of them */
} __attribute__((aligned(CACHE_LINE)));

struct tallies {
	struct tally tallies[PHRASES];
	struct tally_step steps[PHRASES][PHRASE_EVENTS];
};

struct tallies *tallies_new(void);
void tallies_free(struct tallies *t);

/* A call from there to that function, its phrase behind it: is it one of the tally's? */
static inline bool tally_is(const struct tally *t, uint32_t serial, uint64_t from, uint32_t version, uint32_t callee)
{
	return t->serial == serial && t->from == from && t->version == version && t->callee == callee;
}

/* Add it, in a time in which an instruction takes so many ticks. Returns the function that it ends in. */
static inline uint32_t tally_call(struct tally *tally, uint64_t ticks)
{
	tally->calls++;
	tally->ticks += ticks;
	return tally->end;
}

/* Add what calls did to the sums of functions, and begin anew: other phrases may be in the same places. */
void tallies_settle(struct tallies *t, struct function_stat *stats);

/* Spend that tally. It has no steps then, and its members for tally_is() are to be set when it has all: until then it is none. */
struct tally *tally_begin(struct tallies *t, unsigned i, struct function_stat *stats);
void tally_step(struct tallies *t, unsigned i, uint32_t function, bool entered, uint64_t insns);

#endif
