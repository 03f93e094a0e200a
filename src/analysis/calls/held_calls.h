/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls that remain where calls were chosen (thin.h), though they were not chosen themselves: others that remain need
 * their entries or exits. Events do not tell them apart, so a trace has a list of them (docs/format.md, chunk HELD);
 * whoever lists calls leaves them out.
 */
#ifndef UPTO_ANALYSIS_HELD_CALLS_H
#define UPTO_ANALYSIS_HELD_CALLS_H

#include "base/map.h"
#include "replay/stacks.h"

/* A trace's own list, gone through while its calls are entered. */
struct held_calls {
	/* of the calls, from 1 on, in the order in which they are entered while thunks are folded */
	uint64_t *numbers;
	size_t count, cap;
	size_t next;
	uint64_t entered;
	uint64_t most;          /* no trace of so many events has more calls */
};

/* Errors name the file. Call held_calls_deinit() also after an error. */
int held_calls_read(const struct reader *r, struct held_calls *ret, struct error *err);
void held_calls_deinit(struct held_calls *h);

/* The story (replay/story.h) enters another call: is it held? */
static inline bool held_calls_enter(struct held_calls *h)
{
	if (h->next == h->count || ++h->entered < h->numbers[h->next])
		return false;
	h->next++;
	return true;
}

/* The same as a set that is good for any part of the trace: by thread, function and time of entry. */
void held_calls_put(struct map *held, const struct stacks *s, const struct stack *stack, const struct frame *f);
bool held_calls_has(const struct map *held, const struct stacks *s, const struct stack *stack, const struct frame *f);

/* Add those of a trace to the set. Its thunks must be folded. */
int held_calls_collect(const struct session *session, struct map *held, struct error *err);

/*
 * Append the payload of a HELD chunk for a trace, whose thunks must be folded: of its calls those that are in the set.
 * Nothing if there are none.
 */
int held_calls_encode(const struct session *session, const struct map *held, struct buf *out, struct error *err);

#endif
