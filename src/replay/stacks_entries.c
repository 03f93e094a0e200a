/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames of interrupts, system calls and signals' handlers: how the kernel is entered, and left again. */
#include "stacks_frames.h"

void replay_enter_kernel(struct replay *r, struct stack *stack, const struct event *e)
{
	if (!stack->depth)
		push_base(r, stack, e->from);
	if (e->kind == EVENT_SYSCALL)
		push(r, stack, FRAME_SYSCALL, e->slot, e->from,
		     syscall_role(arch_abi(r->reader->arch, e->args[7]), e->args[0]), e->target);
	else
		push(r, stack, FRAME_INTERRUPT, e->slot, e->from, (uint32_t)e->args[0], e->target);
}

static bool leads_back(const struct replay *r, const struct frame *f, const struct event *e)
{
	enum { FRAME_MOVES = 64 };

	switch (f->kind) {
	case FRAME_SYSCALL:
		if (!f->from)
			return true;
		/* fall through */
	case FRAME_SIGNAL:
		/* a call that a signal cut short may be made again, also once a handler has run */
		return f->from == e->target || f->from - r->reader->arch->syscall_length == e->target;
	case FRAME_INTERRUPT:
		/*
		 * A handler may mend where it returns to (fixups, int3 emulation), and even move its frame a
		 * little for that; what sync_core() pushes to return from is far below.
		 */
		return f->from == e->target ||
		       (addr_is_kernel(e->target) && same_stack(r, f->slot, e->slot) &&
			e->slot + FRAME_MOVES - f->slot <= 2 * FRAME_MOVES);
	default:
		return false;
	}
}

/* The innermost frame that an event leads back from. Its place in the stack; the depth: there is none. */
static size_t find_entry(const struct replay *r, const struct stack *stack, const struct event *e)
{
	for (size_t i = stack->depth; i-- > 0;) {
		if (leads_back(r, &stack->frames[i], e))
			return i;
	}
	return stack->depth;
}

/* To user code at another place than it was left at: a signal's handler, a new program, a thread's first step. */
static void enter_user(struct replay *r, struct stack *stack, uint64_t target, bool exec)
{
	uint64_t left = 0;
	size_t i = 0;

	while (i < stack->depth && !addr_is_kernel(stack->frames[i].addr) && !is_entry(&stack->frames[i]))
		i++;
	if (i < stack->depth && is_entry(&stack->frames[i]))
		left = stack->frames[i].from;
	if (exec)
		i = 0;
	cut(r, stack, i);
	push(r, stack, i ? FRAME_SIGNAL : FRAME_BASE, 0, left, SYSCALL_PLAIN, target);
}

struct stack *replay_entry_return(struct replay *r, struct stack *stack, const struct event *e)
{
	size_t i = find_entry(r, stack, e);
	bool exec = false;
	struct stack *other;

	if (i == stack->depth || stack->frames[i].slot != e->slot) {
		other = e->kind == EVENT_INTERRUPT_RETURN ? replay_switch_foreign(r, stack, e) : NULL;
		if (other)
			return other;
	}
	if (i < stack->depth) {
		cut(r, stack, i + 1);
		pop(r, stack);
		return stack;
	}
	if (addr_is_kernel(e->target) || names_before_kernel(r->stacks->names, r->stacks->ns)) {
		/* iret to itself: sync_core(); firmware uses it as it likes */
		replay_jump(r, stack, e->target, e->kind);
		return stack;
	}
	for (size_t k = stack->depth; k-- > 0 && !exec;)
		exec = stack->frames[k].kind == FRAME_SYSCALL && stack->frames[k].role == SYSCALL_EXEC;
	enter_user(r, stack, e->target, exec);
	return stack;
}
