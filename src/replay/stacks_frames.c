/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stacks_frames.h"

const char *frame_kind_name(enum frame_kind kind)
{
	static const char *const names[] = {
		[FRAME_BASE] = "call", [FRAME_CALL] = "call", [FRAME_TAIL] = "tail",
		[FRAME_INTERRUPT] = "interrupt", [FRAME_SYSCALL] = "syscall", [FRAME_SIGNAL] = "signal",
	};

	return names[kind];
}

const char *frame_end_name(enum frame_end end)
{
	static const char *const names[] = {
		[FRAME_RETURNED] = "returned", [FRAME_JUMPED] = "jumped", [FRAME_CUT] = "cut",
		[FRAME_DIED] = "died",         [FRAME_LOST] = "lost",
	};

	return names[end];
}

void replay_forget_deepest(struct replay *r, struct stack *stack)
{
	if (r->visitor->forget)
		r->visitor->forget(r->state, r->stacks, stack, STACK_DEPTH_MAX / 2);
	memmove(stack->frames, stack->frames + STACK_DEPTH_MAX / 2, STACK_DEPTH_MAX / 2 * sizeof *stack->frames);
	stack->depth = STACK_DEPTH_MAX / 2;
}
