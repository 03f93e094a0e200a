/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The frames of a stack that is replayed: how they come and go. Inlined, since there is one an event. */
#ifndef UPTO_REPLAY_STACKS_FRAMES_H
#define UPTO_REPLAY_STACKS_FRAMES_H

#include "base/alloc.h"
#include "shapes.h"
#include "stacks_state.h"

enum { STACK_DEPTH_MAX = 1 << 16 };

static inline struct frame *top(struct stack *stack)
{
	return stack->depth ? &stack->frames[stack->depth - 1] : NULL;
}

static inline bool same_stack(const struct replay *r, uint64_t a, uint64_t b)
{
	enum { USER_STACK = 8 << 20 }; /* what is farther apart is on different stacks */

	if (addr_is_kernel(a) != addr_is_kernel(b))
		return false;
	if (addr_is_kernel(a))
		return (a ^ b) < r->reader->kernel_stack;
	return (a > b ? a - b : b - a) < USER_STACK;
}

/* Whose code is at an address, for what runs now. */
static inline struct place place_of(struct replay *r, uint64_t addr)
{
	return name_cache_place(r->cache, r->view, r->task, addr, r->stacks->ns);
}

static inline bool is_start(struct place place)
{
	return place.at;
}

/* A guest that calls and never returns: what is deepest is forgotten. */
void replay_forget_deepest(struct replay *r, struct stack *stack);

/*
 * Room for a frame on top, to be filled in where it stands (frames are large, and
 * there is one an event), then entered. After a pop it is the frame that was left.
 */
static inline struct frame *room(struct replay *r, struct stack *stack)
{
	if (__builtin_expect(stack->depth == STACK_DEPTH_MAX, 0))
		replay_forget_deepest(r, stack);
	if (__builtin_expect(stack->depth == stack->cap, 0))
		stack->frames = array_grow(stack->frames, stack->depth, &stack->cap, sizeof *stack->frames);
	return &stack->frames[stack->depth];
}

/* What there is room for begins now; its kind, slot, from, role and data are set. */
static inline void enter(struct replay *r, struct stack *stack, uint64_t addr, uint32_t function, bool at_start)
{
	struct frame *frame = &stack->frames[stack->depth++];

	frame->addr = addr;
	frame->entry_ns = r->stacks->ns;
	frame->insns = stack->insns;
	frame->ns = stack->ns;
	frame->function = function;
	frame->at_start = at_start;
	frame->found_at_start = false;
	if (r->visitor->enter)
		r->visitor->enter(r->state, r->stacks, stack, frame);
}

static inline void push_place(struct replay *r, struct stack *stack, enum frame_kind kind, uint64_t slot, uint64_t from,
			      uint32_t role, uint64_t addr, struct place place)
{
	struct frame *frame = room(r, stack);

	frame->kind = kind;
	frame->slot = slot;
	frame->from = from;
	frame->role = role;
	frame->data = 0;
	enter(r, stack, addr, place.function, is_start(place));
}

static inline void push(struct replay *r, struct stack *stack, enum frame_kind kind, uint64_t slot, uint64_t from,
			uint32_t role, uint64_t addr)
{
	push_place(r, stack, kind, slot, from, role, addr, place_of(r, addr));
}

static inline void push_base(struct replay *r, struct stack *stack, uint64_t addr)
{
	push(r, stack, FRAME_BASE, 0, 0, SYSCALL_PLAIN, addr);
}

static inline void pop(struct replay *r, struct stack *stack)
{
	if (__builtin_expect(r->recording != NULL, 0))
		shapes_leave(r->recording, stack);
	if (r->visitor->leave)
		r->visitor->leave(r->state, r->stacks, stack, &stack->frames[stack->depth - 1]);
	stack->depth--;
}

/* Leave the top frame in another way than by a return. */
static inline void pop_without_return(struct replay *r, struct stack *stack, enum frame_end end)
{
	r->stacks->end = end;
	pop(r, stack);
	r->stacks->end = FRAME_RETURNED;
}

/* Leave all frames above that many. */
static inline void cut_by(struct replay *r, struct stack *stack, size_t depth, enum frame_end end)
{
	while (stack->depth > depth) {
		r->stacks->unmatched.abandoned += top(stack)->kind != FRAME_TAIL;
		pop_without_return(r, stack, end);
	}
}

static inline void cut(struct replay *r, struct stack *stack, size_t depth)
{
	cut_by(r, stack, depth, FRAME_CUT);
}

/* Leave the top frame, and those that led there by tail calls. */
static inline void pop_call(struct replay *r, struct stack *stack)
{
	while (__builtin_expect(stack->frames[stack->depth - 1].kind == FRAME_TAIL && stack->depth > 1, 0))
		pop(r, stack);
	pop(r, stack);
}

static inline bool is_entry(const struct frame *f)
{
	return f->kind == FRAME_INTERRUPT || f->kind == FRAME_SYSCALL;
}

#endif
