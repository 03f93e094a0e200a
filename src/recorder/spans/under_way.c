/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "under_way.h"

#include <stdlib.h>
#include <string.h>

#include "arch/address.h"
#include "base/alloc.h"
#include "recorder/cpu.h"
#include "recorder/kernel/guest_address.h"

enum {
	CALLS_MAX = 4096,       /* a program that calls itself ever deeper: the deepest half is enough */
	USER_STACK = 8 << 20,   /* what is farther apart is on different stacks */
	FRAME_MOVES = 64,       /* a handler may move its frame a little to mend where it returns to */
};

static bool same_stack(uint64_t a, uint64_t b)
{
	if (addr_is_kernel(a) != addr_is_kernel(b))
		return false;
	if (addr_is_kernel(a))
		return (a ^ b) < recorder.kernel_stack;
	return (a > b ? a - b : b - a) < USER_STACK;
}

static const struct stack_call *top(const struct under_way *w)
{
	return w->count ? &w->calls[w->count - 1].call : NULL;
}

static void push(struct under_way *w, enum stack_call_kind kind, const struct event *e, uint64_t number)
{
	if (w->count == CALLS_MAX) {
		w->count /= 2;
		memmove(w->calls, w->calls + w->count, w->count * sizeof *w->calls);
		w->base = 0;
	}
	w->calls = array_grow(w->calls, w->count, &w->cap, sizeof *w->calls);
	w->calls[w->count++] = (struct way_call){
		.call = { .kind = kind,
			  .slot = e->slot,
			  .from = e->from,
			  .target = e->target,
			  .ns = e->ns,
			  .number = number },
	};
}

/* A call at or below a new one's slot can only have returned, or never will. */
static void leave_below(struct under_way *w, uint64_t slot)
{
	const struct stack_call *t;

	while ((t = top(w)) && (t->kind == STACK_CALL || (t->kind == STACK_INTERRUPT && addr_is_kernel(t->from))) &&
	       t->slot <= slot && same_stack(t->slot, slot))
		w->count--;
}

static void jump(struct under_way *w, const struct event *e)
{
	if (w->count) {
		w->calls[w->count - 1].last = e->target;
		w->calls[w->count - 1].last_ns = e->ns;
	} else {
		w->base = e->target;
		w->base_ns = e->ns;
	}
}

/* Its place, within the innermost interrupt or system call; `count`: there is none. */
static size_t find_slot(const struct under_way *w, uint64_t slot)
{
	for (size_t i = w->count; i-- > 0 && w->calls[i].call.kind == STACK_CALL;)
		if (w->calls[i].call.slot == slot)
			return i;
	return w->count;
}

/* Is it on a stack of the kernel that none of the calls is on? So a thread begins; the calls are another one's. */
static bool begins_thread(const struct under_way *w, uint64_t slot)
{
	if (!addr_is_kernel(slot))
		return false;
	for (size_t i = 0; i < w->count; i++)
		if (same_stack(w->calls[i].call.slot, slot))
			return false;
	return true;
}

static void go_back(struct under_way *w, const struct event *e)
{
	size_t i = find_slot(w, e->slot);
	bool elsewhere;

	if (i == w->count && w->count && top(w)->kind == STACK_CALL && top(w)->from == e->target)
		i--; /* it has moved to another stack meanwhile */
	if (i == w->count) {
		if (begins_thread(w, e->slot))
			w->count = 0;
		leave_below(w, e->slot);
		jump(w, e);
		return;
	}
	elsewhere = w->calls[i].call.from != e->target; /* a retpoline's jump */
	w->count = i;
	if (elsewhere)
		jump(w, e);
}

static bool leads_back(const struct stack_call *c, const struct event *e)
{
	if (c->kind == STACK_SYSCALL)
		return !c->from || c->from == e->target || c->from - recorder.cpu->arch->syscall_length == e->target;
	return c->kind == STACK_INTERRUPT &&
	       (c->from == e->target || (addr_is_kernel(e->target) && same_stack(c->slot, e->slot) &&
					 e->slot + FRAME_MOVES - c->slot <= 2 * FRAME_MOVES));
}

static uint64_t role_of(const struct event *syscall)
{
	const struct arch *arch = guest_is_narrow() ? recorder.cpu->narrow_arch : recorder.cpu->arch;

	return syscall_role(arch_abi(arch, syscall->args[7]), syscall->args[0]);
}

/*
 * To user code elsewhere: a signal's handler, whose calls come above those of the program, or a new program, which has
 * none.
 */
static void enter_user(struct under_way *w, const struct event *e)
{
	size_t user = 0;
	bool exec = false;

	for (size_t i = 0; i < w->count; i++)
		exec |= w->calls[i].call.kind == STACK_SYSCALL && w->calls[i].call.number == SYSCALL_EXEC;
	while (!exec && user < w->count && w->calls[user].call.kind == STACK_CALL &&
	       !addr_is_kernel(w->calls[user].call.target))
		user++;
	w->count = user;
	if (!user)
		jump(w, e);
}

static void leave_kernel(struct under_way *w, const struct event *e)
{
	size_t i = w->count;

	while (i-- > 0)
		if (leads_back(&w->calls[i].call, e)) {
			w->count = i;
			return;
		}
	if (addr_is_kernel(e->target))
		jump(w, e);
	else
		enter_user(w, e);
}

/* The kernel begins: what led to it is over. */
static bool enters_stage(const struct under_way *w, const struct event *e)
{
	return addr_is_kernel(e->target) && !addr_is_kernel(w->place) && e->kind < EVENT_INTERRUPT &&
	       e->kind != EVENT_INTERRUPT_RETURN;
}

void under_way_event(struct under_way *w, const struct event *e)
{
	if (__builtin_expect(enters_stage(w, e), 0))
		w->count = w->base = 0;
	switch (e->kind) {
	case EVENT_CALL:
	case EVENT_CALL_INDIRECT:
		leave_below(w, e->slot);
		push(w, STACK_CALL, e, 0);
		break;
	case EVENT_RETURN:
		go_back(w, e);
		break;
	case EVENT_JUMP:
	case EVENT_JUMP_INDIRECT:
	case EVENT_ARRIVE:
		jump(w, e);
		break;
	case EVENT_INTERRUPT:
		push(w, STACK_INTERRUPT, e, e->args[0]);
		break;
	case EVENT_SYSCALL:
		push(w, STACK_SYSCALL, e, role_of(e));
		break;
	case EVENT_INTERRUPT_RETURN:
	case EVENT_SYSCALL_RETURN:
		leave_kernel(w, e);
		break;
	default:
		break;
	}
	if (e->target)
		w->place = e->target;
}

static bool has_jumped(const struct way_call *c)
{
	return c->call.kind == STACK_CALL && c->last && c->last != c->call.target;
}

void under_way_put(const struct under_way *w, const struct stack_record *record, struct buf *out)
{
	struct stack_record r = *record;
	bool has_base = w->base && w->count;

	r.place = w->place;
	r.n_calls = w->count + has_base;
	for (size_t i = 0; i < w->count; i++)
		r.n_calls += has_jumped(&w->calls[i]);
	stack_record_put(out, &r);
	if (has_base)
		stack_call_put(out, &(struct stack_call){ .kind = STACK_BASE, .target = w->base, .ns = w->base_ns });
	for (size_t i = 0; i < w->count; i++) {
		struct stack_call tail = w->calls[i].call;

		stack_call_put(out, &tail);
		tail.kind = STACK_TAIL;
		tail.target = w->calls[i].last;
		tail.ns = w->calls[i].last_ns;
		if (has_jumped(&w->calls[i]))
			stack_call_put(out, &tail);
	}
}

void under_way_forget(struct under_way *w)
{
	w->count = 0;
	w->place = w->base = 0;
}

void under_way_deinit(struct under_way *w)
{
	free(w->calls);
	*w = (struct under_way){ 0 };
}
