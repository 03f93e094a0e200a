/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A phrase is everything that a call did up to its return. If a later call from the
 * same site does the same, the phrase's number stands for all these events, and
 * nobody looks them up or learns from them one by one. Encoder and decoder learn
 * the same phrases from the same windows of events (docs/format.md).
 */
#ifndef UPTO_TRACE_PHRASES_H
#define UPTO_TRACE_PHRASES_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

#include "event.h"

enum {
	/* A phrase lies within one window. A window begins with a chunk, behind a clock, or after this many events. */
	WINDOW_EVENTS = 512,
	PHRASE_EVENTS = 31,
#ifdef UPTO_SMALL_TABLES /* as in model.h */
	PHRASE_SETS = 8,
#else
	PHRASE_SETS = 1 << 11,
#endif
	PHRASE_WAYS = 8,
	PHRASES = PHRASE_SETS * PHRASE_WAYS,
	OPEN_CALLS = 16,
};

/* Every field except `site` is a difference from the call, or from the phrase's `far` address. */
struct phrase_event {
	uint32_t site; /* and, in the bits above it, what the differences count from (phrases.c) */
	uint16_t insns;
	int16_t slot;
	int32_t from, target;
};

struct phrase {
	/* difference from the call's `from` to an address that 32 bits do not reach: code of another object */
	uint64_t far;
	struct phrase_event events[];
};

/*
 * Most phrases are short. Each gets as many lines of memory as it needs, so that a vCPU's phrases are 3 MB and not 8.
 */
enum {
	PHRASE_LINE = 64, /* bytes */
	PHRASE_LINES =
		(sizeof(struct phrase) + PHRASE_EVENTS * sizeof(struct phrase_event) + PHRASE_LINE - 1) / PHRASE_LINE,
	/* Pieces of a size are used again for that size only, and there are never more of a size than phrases. */
	PHRASE_LINES_MAX = PHRASES * (PHRASE_LINES * (PHRASE_LINES + 1) / 2) + 1,
};

/* The phrases of all call sites whose numbers are equal modulo PHRASE_SETS: all that is needed to go past them. */
struct phrase_set {
	uint32_t sites[PHRASE_WAYS]; /* the call site of each phrase; 0: no phrase */
	uint16_t insns[PHRASE_WAYS]; /* from the call to the phrase's last event */
	uint8_t counts[PHRASE_WAYS]; /* of events */
	uint8_t next;                /* the phrase that was learned first, which the next one replaces */
	uint8_t used;                /* a bit for each phrase, for readers that go past phrases */
	uint16_t used_when;
} __attribute__((aligned(64)));
static_assert(sizeof(struct phrase_set) == 64, "a set is a cache line");

/* By place: the number of the phrase's set times PHRASE_WAYS, plus its index in the set. */
struct phrase_place {
	uint32_t line;   /* where the phrase lies */
	uint32_t serial; /* unique among all phrases that were ever in the same place */
};

struct phrases {
	struct phrase_set sets[PHRASE_SETS];
	struct phrase_place places[PHRASES];
	unsigned char *lines;             /* PHRASE_LINES_MAX of PHRASE_LINE bytes, of which n_lines were ever used */
	uint32_t n_lines;
	/* by size: the first free piece, whose first bytes name the next one; 0: none */
	uint32_t freed[PHRASE_LINES + 1];
	uint32_t learned;                 /* how many phrases were learned so far */
	bool written[PHRASE_SETS];        /* the set has phrases, or had one since phrases_reset() */
};

struct phrases *phrases_new(void);
void phrases_free(struct phrases *phrases);
/* Forget all phrases. */
void phrases_reset(struct phrases *phrases);

/* Indexes of the calls in the window that have not returned yet. */
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

/* Does the call site have a phrase of that number (1 … PHRASE_WAYS) in its set? */
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

static inline struct phrase *phrase_at(const struct phrases *phrases, unsigned place)
{
	return (struct phrase *)(void *)(phrases->lines + (size_t)phrases->places[place].line * PHRASE_LINE);
}

/* The number of the phrase that the `left` events behind the call begin with; 0: none. Tries `likely` first. */
unsigned phrases_find(const struct phrases *phrases, const struct event *call, size_t left, unsigned likely);

/* Write the phrase's events behind the call. The caller has made room for them. */
void phrase_write(const struct phrases *phrases, unsigned place, struct event *call);

/* Remember the events behind a call up to its return, inclusive, as a phrase, if they fit into one. */
void phrases_learn(struct phrases *phrases, const struct event *call, const struct event *ret);

/*
 * Follow an event of the window that is not part of a phrase. Returns the call whose phrase ends with this event and
 * can be learned; NULL: none. `kind` is the event's kind, as a constant where the caller knows it.
 */
static inline __attribute__((always_inline)) struct event *open_calls_follow(struct open_calls *open,
									     struct event *window,
									     const struct event *e,
									     enum event_kind kind)
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
