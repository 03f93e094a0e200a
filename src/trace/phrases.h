/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Phrases: all that a call did up to its return, as calls from the same site
 * did it before. Where the next one does as one of those, the phrase's number
 * stands for all its events, and they are neither looked up nor learned one by
 * one. Encoder and decoder learn the same phrases from the same windows of
 * events (docs/format.md).
 */
#ifndef UPTO_TRACE_PHRASES_H
#define UPTO_TRACE_PHRASES_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

#include "event.h"

enum {
	/* A phrase lies within a window: one begins with each chunk, behind a clock, and after as many events. */
	WINDOW_EVENTS = 512,
	PHRASE_EVENTS = 31,
	PHRASE_SETS = 1 << 11,
	PHRASE_WAYS = 8,
	PHRASES = PHRASE_SETS * PHRASE_WAYS,
	OPEN_CALLS = 16,
};

/* All but the site relative to the call, or to the address far from it. */
struct phrase_event {
	uint32_t site; /* and above it what the differences are to be added to (phrases.c) */
	uint16_t insns;
	int16_t slot;
	int32_t from, target;
};

struct phrase {
	uint64_t far; /* an address that 32 bits from the call's `from` do not reach, minus that: another object's code */
	struct phrase_event events[PHRASE_EVENTS];
};

/* Phrases of all call sites whose numbers are the same modulo PHRASE_SETS: as much as one needs to know to go past them. */
struct phrase_set {
	uint32_t sites[PHRASE_WAYS]; /* whose phrase each is; 0: there is none */
	uint16_t insns[PHRASE_WAYS]; /* from the call to the phrase's last event */
	uint8_t counts[PHRASE_WAYS]; /* of events */
	uint8_t next;                /* the one that was learned first: the next takes its place */
	uint8_t used;                /* for whoever goes past phrases: a bit for each */
	uint16_t used_when;
} __attribute__((aligned(64)));
static_assert(sizeof(struct phrase_set) == 64, "a set is a cache line");

/* A phrase's place is that of its set times PHRASE_WAYS, and its own in that. */
struct phrases {
	struct phrase_set sets[PHRASE_SETS];
	struct phrase known[PHRASES];
	uint32_t serials[PHRASES];    /* no two phrases that were ever in a place have the same */
	uint32_t learned;             /* how many were, ever */
};

/* Calls of the window that have not returned: their places in it. */
struct open_calls {
	unsigned count;
	uint16_t at[OPEN_CALLS];
};

static inline bool is_call(enum event_kind kind)
{
	return kind == EVENT_CALL || kind == EVENT_CALL_INDIRECT;
}

static inline struct phrase_set *phrases_set(struct phrases *phrases, uint32_t call_site)
{
	return &phrases->sets[call_site % PHRASE_SETS];
}

/* Does the set have a phrase of that number, 1 … PHRASE_WAYS, of the call? */
static inline bool phrase_set_has(const struct phrase_set *set, uint32_t call_site, unsigned number)
{
	return number - 1 < PHRASE_WAYS && set->sites[number - 1] == call_site;
}

/* Its place. */
static inline unsigned phrase_place(uint32_t call_site, unsigned number)
{
	return call_site % PHRASE_SETS * PHRASE_WAYS + number - 1;
}

static inline unsigned phrase_count(const struct phrases *phrases, unsigned place)
{
	return phrases->sets[place / PHRASE_WAYS].counts[place % PHRASE_WAYS];
}

static inline unsigned phrase_insns(const struct phrases *phrases, unsigned place)
{
	return phrases->sets[place / PHRASE_WAYS].insns[place % PHRASE_WAYS];
}

/* The number of the phrase that the `left` events behind the call begin with, 0: none. `likely` is looked at first. */
unsigned phrases_find(const struct phrases *phrases, const struct event *call, size_t left, unsigned likely);

/* Write the phrase's events behind the call, where there is room for them. */
void phrase_write(const struct phrases *phrases, unsigned place, struct event *call);

/* Remember what stands between a call and its return, that included, if it fits. */
void phrases_learn(struct phrases *phrases, const struct event *call, const struct event *ret);

/*
 * Take in an event of the window that no phrase stood for. Returns the call whose phrase, to be learned, ends with it;
 * NULL: there is none. `kind` is the event's: a constant, where the caller knows it.
 */
static inline __attribute__((always_inline)) struct event *open_calls_follow(struct open_calls *open, struct event *window,
									      const struct event *e, enum event_kind kind)
{
	struct event *call;

	if (is_call(kind)) {
		open->at[open->count++] = (uint16_t)(e - window);
		open->count %= OPEN_CALLS;
	} else if (kind == EVENT_RETURN && open->count) {
		call = &window[open->at[--open->count]];
		if (call->slot != e->slot)
			open->count = 0;
		else if (e - call <= PHRASE_EVENTS && e->target == call->from)
			return call;
	} else if (kind >= EVENT_INTERRUPT_RETURN) {
		open->count = 0;
	}
	return NULL;
}

#endif
