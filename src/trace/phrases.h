/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Phrases: all that a call did up to its return, as the last call from the same
 * site did it. Where the next one does the same, a bit beside the call stands
 * for the whole phrase, and its events are neither looked up nor learned one by
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
	PHRASES = 1 << 13,
	OPEN_CALLS = 16,
};

/* All but the site relative to the call: to its insns, its slot, and its `from`. */
struct phrase_event {
	uint32_t site; /* tagged (model.h) */
	uint16_t insns;
	int16_t slot;
	int32_t from, target;
};

struct phrase {
	uint32_t site; /* of the call; 0: none is known */
	uint32_t count;
	struct phrase_event events[PHRASE_EVENTS];
} __attribute__((aligned(512)));
static_assert(sizeof(struct phrase) == 512, "phrases are whole cache lines");

/* Calls of the window that have not returned: their places in it. */
struct open_calls {
	unsigned count;
	uint16_t at[OPEN_CALLS];
};

static inline bool is_call(enum event_kind kind)
{
	return kind == EVENT_CALL || kind == EVENT_CALL_INDIRECT;
}

/* The place in the table for what a call's site does. */
static inline struct phrase *phrase_of(struct phrase *table, uint32_t site)
{
	return &table[site % PHRASES];
}

/* Whether the `left` events behind a call begin with the phrase. */
bool phrase_matches(const struct phrase *phrase, const struct event *call, size_t left);

/* Write the phrase's events behind the call, where there is room for them; returns the end. */
struct event *phrase_write(const struct phrase *phrase, struct event *call);

/* Remember what stands between a call and its return, that included, if it fits. */
void phrase_learn(struct phrase *table, const struct event *call, const struct event *ret);

/* Take in an event of the window that no phrase stood for. `kind` is the event's: a constant, where the caller knows it. */
static inline __attribute__((always_inline)) void phrases_follow(struct phrase *table, struct open_calls *open,
								 const struct event *window, const struct event *e,
								 enum event_kind kind)
{
	const struct event *call;

	if (is_call(kind)) {
		open->at[open->count++] = (uint16_t)(e - window);
		open->count %= OPEN_CALLS;
	} else if (kind == EVENT_RETURN && open->count) {
		call = &window[open->at[--open->count]];
		if (call->slot != e->slot)
			open->count = 0;
		else if (e - call <= PHRASE_EVENTS && e->target == call->from)
			phrase_learn(table, call, e);
	} else if (kind >= EVENT_INTERRUPT_RETURN) {
		open->count = 0;
	}
}

#endif
