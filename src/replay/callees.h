/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a frame's callees have run: what its own time is without. Kept for all
 * frames while an index is made, so that who begins in the middle of a call need
 * not replay it from its entry.
 */
#ifndef UPTO_REPLAY_CALLEES_H
#define UPTO_REPLAY_CALLEES_H

#include "stacks.h"

struct callees {
	uint64_t insns, ns; /* by the thread's own clocks */
};

/* What a visitor of stacks does to keep them, as the stacks' data. */
void callees_enter(struct stack *stack);
void callees_leave(struct stack *stack, const struct frame *frame);
void callees_phrase(struct stack *stack, const struct spent *spent);
void callees_forget(struct stack *stack, size_t n);
void callees_free(struct stacks *s);

/* Those of all stacks, and of one frame again. False: it is not there, or what was saved is damaged. */
void callees_save(const struct stacks *s, struct buf *out);
bool callees_find(struct cursor saved, size_t stack, size_t depth, struct callees *ret);

#endif
