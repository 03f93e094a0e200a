/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads of what is no Linux: firmware, boot loaders, kernels of one's own. Nothing tells of a switch there, but a
 * return, or a return from an interrupt, shows it: it reads its address from another stack. If that is where a call, or
 * an interrupt, of a stack that was left before had put it, that one goes on; if it is nobody's, and leads to a
 * function's beginning, a thread begins:
 *
 *   stack of A                     stack of B
 *    first_thread                   second_thread      ← nobody called it: the slot that the return
 *     yield                          yield               read is where this stack begins
 *      switch_to  ── return ──→       switch_to
 *                                        ↑ returns here: same slot, same address as its call had
 */
#include "stacks_frames.h"

enum {
	/* functions push an address to return to it, nearer than that; another thread's stack is not so near */
	FAR = 512,
	MOVES = 64,  /* an interrupt's frame may be returned from a little off */
};

/* Is there anybody who tells of threads now? */
static bool is_told(const struct replay *r)
{
	return r->stacks->ns >= names_kernel_ns(r->stacks->names, r->stacks->ns);
}

static bool is_left(const struct stack *stack)
{
	return stack->cpu < 0 && stack->depth && stack->thread == THREAD_NONE;
}

static size_t first_foreign(const struct stacks *s)
{
	return s->count - STACKS_FOREIGN;
}

/* The frame that was called, or interrupted, with its address in that slot. The depth: none. */
static size_t find_frame(const struct stack *stack, const struct event *e)
{
	for (size_t i = stack->depth; i-- > 0;) {
		const struct frame *f = &stack->frames[i];
		bool interrupt = f->kind == FRAME_INTERRUPT;

		if (f->from == e->target && interrupt == (e->kind == EVENT_INTERRUPT_RETURN) &&
		    (interrupt || frame_is_called(f)) &&
		    (f->slot == e->slot || (interrupt && e->slot + MOVES - f->slot <= 2 * MOVES)))
			return i;
		if (interrupt)
			break;
	}
	return stack->depth;
}

static void run_instead(struct replay *r, unsigned cpu, struct stack *next)
{
	struct stack *before = r->lanes[cpu].stack;

	if (r->visitor->switched)
		r->visitor->switched(r->state, r->stacks, before, next, cpu);
	before->cpu = -1;
	next->cpu = (int)cpu;
	r->lanes[cpu].stack = next;
}

/* A stack that was left goes on there: the call, or the interrupt, returns. */
static bool goes_on(struct replay *r, struct stack *stack, const struct event *e)
{
	struct stacks *s = r->stacks;

	for (size_t i = s->threads->count; i < s->count; i++) {
		struct stack *next = &s->list[i];
		size_t frame = is_left(next) ? find_frame(next, e) : next->depth;

		if (frame == next->depth)
			continue;
		run_instead(r, (unsigned)stack->cpu, next);
		cut(r, next, frame + 1);
		if (e->kind == EVENT_INTERRUPT_RETURN)
			pop(r, next);
		else
			pop_call(r, next);
		next->began = true;
		return true;
	}
	return false;
}

/* Does the stack that runs reach to that address? Stacks grow downwards. */
static bool is_far(const struct stack *stack, uint64_t slot)
{
	uint64_t lowest = 0, highest = 0;

	for (size_t i = 0; i < stack->depth; i++) {
		uint64_t at = stack->frames[i].slot;

		if (!at)
			continue;
		lowest = !lowest || at < lowest ? at : lowest;
		highest = at > highest ? at : highest;
	}
	return highest && (slot > highest || slot + FAR < lowest);
}

/* A new thread's stack begins where that of another one was, which is over then. */
static bool is_on(const struct stack *stack, uint64_t slot)
{
	return slot <= stack->frames[0].slot && slot >= stack->frames[stack->depth - 1].slot;
}

static struct stack *room_for_stack(struct replay *r, uint64_t slot)
{
	struct stacks *s = r->stacks;
	struct stack *found = NULL;

	for (size_t i = first_foreign(s); i < s->count; i++) {
		struct stack *stack = &s->list[i];

		if (is_left(stack) && is_on(stack, slot))
			cut_by(r, stack, 0, FRAME_DIED);
		if (!stack->depth && stack->cpu < 0 && !found)
			found = stack;
	}
	return found;
}

static bool begins(struct replay *r, struct stack *stack, const struct event *e)
{
	struct place place = place_of(r, e->target);
	struct stack *next;

	if (!(place.at & AT_START) || !is_far(stack, e->slot))
		return false;
	next = room_for_stack(r, e->slot);
	if (!next)
		return false; /* so many threads are not told apart */
	run_instead(r, (unsigned)stack->cpu, next);
	next->insns = next->ns = 0;
	push_place(r, next, FRAME_BASE, e->slot, 0, SYSCALL_PLAIN, e->target, place);
	next->began = true;
	return true;
}

struct stack *replay_switch_foreign(struct replay *r, struct stack *stack, const struct event *e)
{
	unsigned cpu = (unsigned)stack->cpu;

	/* a damaged index may have any number there */
	if (is_told(r) || cpu >= r->n_lanes || r->lanes[cpu].stack != stack || stack->thread != THREAD_NONE)
		return NULL;
	return goes_on(r, stack, e) || begins(r, stack, e) ? r->lanes[cpu].stack : NULL;
}

void replay_end_foreign(struct replay *r, struct lane *lane)
{
	struct stacks *s = r->stacks;
	unsigned cpu = (unsigned)(lane - r->lanes);
	struct stack *own = &s->list[s->threads->count + cpu];

	if (lane->stack != own && lane->stack->thread == THREAD_NONE)
		run_instead(r, cpu, own);
	for (size_t i = first_foreign(s); i < s->count; i++)
		if (s->list[i].cpu < 0)
			cut_by(r, &s->list[i], 0, FRAME_DIED);
}
