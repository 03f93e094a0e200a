/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls that remain where calls were chosen (thin.h), though they were not chosen themselves: others that remain need their entries or exits.
 * A trace does not tell them apart; whoever lists calls right after choosing leaves them out.
 */
#ifndef UPTO_ANALYSIS_HELD_CALLS_H
#define UPTO_ANALYSIS_HELD_CALLS_H

#include "base/map.h"
#include "replay/stacks.h"

/* A key that the call has in the whole trace, and in what remains of it. */
static inline uint64_t held_call_key(const struct stacks *s, const struct stack *stack, const struct frame *f)
{
	uint64_t pid = stack->thread == THREAD_NONE ? 0 : (uint32_t)s->threads->list[stack->thread].pid;

	return hash64(hash_text(pid + 1, names_function(s->names, f->function)) ^ f->entry_ns);
}

static inline void held_calls_put(struct map *held, const struct stacks *s, const struct stack *stack, const struct frame *f)
{
	map_put(held, held_call_key(s, stack, f), 1);
}

static inline bool held_calls_has(const struct map *held, const struct stacks *s, const struct stack *stack, const struct frame *f)
{
	return held && map_get(held, held_call_key(s, stack, f));
}

#endif
