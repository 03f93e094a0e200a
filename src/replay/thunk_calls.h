/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls into thunks (struct arch, is_thunk) that have not reached their function yet. Such a call gets its frame when
 * the thunk goes on to the function. Until then, control counts as the caller's:
 *
 *	event                     frames    thunk calls
 *	call thunk from f         f         (slot, from)
 *	  call within the thunk   f         (slot, from) (slot - 8, …)
 *	  return elsewhere: g     f g       (none): g returns to `from`, by `slot`
 *
 * A thunk call belongs to the frame that was on top. It lasts while that frame does, below whatever interrupts it.
 */
#ifndef UPTO_REPLAY_THUNK_CALLS_H
#define UPTO_REPLAY_THUNK_CALLS_H

#include <stddef.h>
#include <stdint.h>

struct stack;

struct thunk_call {
	uint64_t slot, from;    /* those of the frame that it may become */
	uint64_t depth;         /* of the stack */
	uint64_t frame_slot, frame_insns; /* of its top frame */
};

struct thunk_calls {
	struct thunk_call *list;
	size_t count, cap;
};

/* Add a call of a thunk, made by the top frame. The stack is not empty. */
void thunk_calls_add(struct stack *stack, uint64_t slot, uint64_t from);

/* The last thunk call of the top frame, or NULL. The caller removes it by decrementing the count. */
const struct thunk_call *thunk_calls_last(struct stack *stack);

/*
 * Remove the top frame's thunk call with that slot, and all later ones. Returns whether there was one; if so, *ret_from
 * is its return address.
 */
int thunk_calls_return(struct stack *stack, uint64_t slot, uint64_t *ret_from);

#endif
