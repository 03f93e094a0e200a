/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "thunk_calls.h"

#include "base/alloc.h"
#include "stacks.h"

enum { THUNK_CALLS_MAX = 1 << 16 };

/* Is the frame still there that the thunk call belongs to? */
static bool lasts(const struct stack *stack, const struct thunk_call *c)
{
	const struct frame *f;

	if (!c->depth || c->depth > stack->depth)
		return false;
	f = &stack->frames[c->depth - 1];
	return f->slot == c->frame_slot && f->insns == c->frame_insns;
}

const struct thunk_call *thunk_calls_last(struct stack *stack)
{
	struct thunk_calls *t = &stack->thunk_calls;

	while (t->count && !lasts(stack, &t->list[t->count - 1]))
		t->count--;
	return t->count && t->list[t->count - 1].depth == stack->depth ? &t->list[t->count - 1] : NULL;
}

void thunk_calls_add(struct stack *stack, uint64_t slot, uint64_t from)
{
	struct thunk_calls *t = &stack->thunk_calls;
	const struct frame *f = &stack->frames[stack->depth - 1];
	const struct thunk_call *last;

	/* a thunk call whose slot is at or below the new one's must have been left */
	while ((last = thunk_calls_last(stack)) && last->slot <= slot)
		t->count--;
	if (t->count == THUNK_CALLS_MAX)
		t->count = 0;
	t->list = array_grow(t->list, t->count, &t->cap, sizeof *t->list);
	t->list[t->count++] = (struct thunk_call){
		.slot = slot, .from = from, .depth = stack->depth, .frame_slot = f->slot, .frame_insns = f->insns,
	};
}

int thunk_calls_return(struct stack *stack, uint64_t slot, uint64_t *ret_from)
{
	struct thunk_calls *t = &stack->thunk_calls;

	if (!thunk_calls_last(stack))
		return 0;
	for (size_t i = t->count; i-- > 0 && t->list[i].depth == stack->depth;)
		if (t->list[i].slot == slot) {
			*ret_from = t->list[i].from;
			t->count = i;
			return 1;
		}
	return 0;
}
