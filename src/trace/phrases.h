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
	PHRASE_SETS = 1 << 10,
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
	uint16_t count;
	uint16_t batch;  /* the decoder's last one that it stands in (codec.h) */
	uint32_t serial; /* when it was learned: no two phrases that were ever in a place have the same */
	struct phrase_event events[PHRASE_EVENTS];
};
static_assert(sizeof(struct phrase) == 512, "phrases are whole cache lines");

/* Phrases of all call sites whose numbers are the same modulo PHRASE_SETS. */
struct phrase_set {
	uint32_t sites[PHRASE_WAYS]; /* whose phrase each is; 0: there is none */
	uint32_t next;               /* the one that was learned first: the next takes its place */
} __attribute__((aligned(64)));

struct phrases {
	struct phrase_set sets[PHRASE_SETS];
	struct phrase known[PHRASES]; /* a set's are next to each other */
	uint32_t learned;             /* how many, ever */
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

/* The phrase of that number, 1 … PHRASE_WAYS, of the call; NULL: there is none. */
static inline struct phrase *phrase_of(struct phrases *phrases, uint32_t call_site, unsigned number)
{
	unsigned set = call_site % PHRASE_SETS;

	if (number - 1 >= PHRASE_WAYS || phrases->sets[set].sites[number - 1] != call_site)
		return NULL;
	return &phrases->known[set * PHRASE_WAYS + number - 1];
}

/* The one that is learned next of the site's calls: what it is now is forgotten then. */
static inline struct phrase *phrase_next(struct phrases *phrases, uint32_t call_site)
{
	unsigned set = call_site % PHRASE_SETS;

	return &phrases->known[set * PHRASE_WAYS + phrases->sets[set].next];
}

/* What a phrase's call and its events took. */
static inline uint64_t phrase_insns(const struct phrase *phrase)
{
	return phrase->events[phrase->count - 1].insns;
}

/* The number of the phrase that the `left` events behind the call begin with, 0: none. `likely` is looked at first. */
unsigned phrases_find(struct phrases *phrases, const struct event *call, size_t left, unsigned likely);

/* Write the phrase's events behind the call, where there is room for them. */
void phrase_write(const struct phrase *phrase, struct event *call);

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
