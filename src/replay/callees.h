/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps what the callees of each frame have run. Without it a frame's self time is
 * not known. It is kept for all frames while an index is made, so that a reader can
 * begin in the middle of a call without replaying the call from its entry.
 */
#ifndef UPTO_REPLAY_CALLEES_H
#define UPTO_REPLAY_CALLEES_H

#include "stacks.h"

struct callees {
	uint64_t insns, ns; /* by the thread's own clocks */
};

/* A visitor of stacks calls these from its callbacks. They use the data of the stacks. */
void callees_enter(struct stack *stack);
void callees_leave(struct stack *stack, const struct frame *frame);
void callees_phrase(struct stack *stack, const struct spent *spent);
void callees_forget(struct stack *stack, size_t n);
void callees_free(struct stacks *s);

/*
 * Append the callees of all stacks, and find those of one frame in what was saved. callees_find() returns false if the
 * frame is not there or the bytes are damaged.
 */
void callees_save(const struct stacks *s, struct buf *out);
bool callees_find(struct cursor saved, size_t stack, size_t depth, struct callees *ret);

#endif
