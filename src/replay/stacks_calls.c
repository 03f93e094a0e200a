/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What calls, returns and jumps do to a stack: nearly all events, so it is inlined into the loops that go through them.
 */
#include "stacks_frames.h"

enum { TAILS_MAX = 32 }; /* that many tail calls are above each other; behind that, jumps replace the top frame */

void replay_push_call(struct replay *r, struct stack *stack, const struct event *call, uint64_t addr)
{
	push(r, stack, FRAME_CALL, call->slot, call->from, SYSCALL_PLAIN, addr);
}

/*
 * A frame at or below a new one's slot can only have been left. So can an interrupt that cut into the kernel: where an
 * oops kills a thread, rewind_stack_and_make_dead() (arch/x86/entry/entry_64.S) sets the stack pointer to the top of
 * the stack, and calls from there.
 */
static inline bool is_left(const struct replay *r, const struct frame *f, uint64_t slot)
{
	return (frame_is_called(f) || (f->kind == FRAME_INTERRUPT && addr_is_kernel(f->from))) &&
	       __builtin_expect(f->slot <= slot, 0) && same_stack(r, f->slot, slot);
}

/*
 * function_graph (kernel/trace/fgraph.c) and return probes (kernel/trace/rethook.c) put a trampoline's address where a
 * call's return address was. The call returns there, and the trampoline, once it has told of it, goes on to that return
 * address: it stands in the stack as if the caller had called it.
 */
static bool is_trampoline(const struct replay *r, uint32_t function)
{
	for (size_t i = 0; i < RETURN_TRAMPOLINES; i++)
		if (r->return_trampolines[i] == function)
			return true;
	return false;
}

static inline __attribute__((always_inline)) void call(struct replay *r, struct stack *stack, const struct event *e)
{
	struct place place = place_of(r, e->target);

	/* a trampoline calls a place of its own, to replace the return address that this has pushed */
	if (__builtin_expect(!is_start(place), 0) && is_trampoline(r, place.function))
		return;
	while (stack->depth && is_left(r, &stack->frames[stack->depth - 1], e->slot))
		cut(r, stack, stack->depth - 1);
	if (__builtin_expect(!stack->depth, 0))
		push_base(r, stack, stack->place ? stack->place : e->from);
	if (__builtin_expect(place.at & IN_THUNK, 0)) {
		thunk_calls_add(stack, e->slot, e->from);
		return;
	}
	push_place(r, stack, FRAME_CALL, e->slot, e->from, SYSCALL_PLAIN, e->target, place);
}

/*
 * Calls that nothing returns from when a task is switched to: they stuff the
 * return stack buffer, FILL_RETURN_BUFFER in arch/x86/include/asm/nospec-branch.h.
 */
static void cut_stuffing(struct replay *r, struct stack *stack)
{
	while (stack->depth > 1) {
		const struct frame *t = top(stack);

		if (t->kind != FRAME_CALL || t->at_start || t->function != r->switches || t[-1].function != t->function)
			break;
		cut(r, stack, stack->depth - 1);
	}
}

/*
 * The frame of the function that is on top, or that led to it by tail calls. NULL: there is none. *ret_tails: tail
 * calls up to it.
 */
static struct frame *find_tail(struct stack *stack, uint32_t function, unsigned *ret_tails)
{
	*ret_tails = 0;
	for (size_t i = stack->depth; i-- > 0;) {
		if (stack->frames[i].function == function)
			return &stack->frames[i];
		if (stack->frames[i].kind != FRAME_TAIL)
			break;
		++*ret_tails;
	}
	return NULL;
}

static bool is_tail_call(const struct replay *r, const struct stack *stack, enum event_kind kind, struct place place)
{
	const struct frame *t = &stack->frames[stack->depth - 1];

	return kind != EVENT_RETURN && kind != EVENT_INTERRUPT_RETURN && frame_is_called(t) &&
	       (t->at_start || t->found_at_start) && !(place.at & IN_GROUP) &&
	       !names_is_group(r->stacks->names, t->function);
}

static void push_tail(struct replay *r, struct stack *stack, uint64_t addr, struct place place)
{
	struct frame *frame = room(r, stack);

	frame->kind = FRAME_TAIL;
	frame->slot = frame[-1].slot;
	frame->from = frame[-1].from;
	frame->role = SYSCALL_PLAIN;
	frame->data = 0;
	enter(r, stack, addr, place.function, is_start(place));
}

static void jump(struct replay *r, struct stack *stack, uint64_t addr, enum event_kind kind)
{
	struct place place = place_of(r, addr);
	bool at_start = is_start(place) && kind != EVENT_INTERRUPT_RETURN;
	const struct thunk_call *call;
	const struct frame *t;
	unsigned tails;

	if (place.at & IN_THUNK)
		return;
	if (__builtin_expect(stack->thunk_calls.count, 0) && (call = thunk_calls_last(stack))) {
		stack->thunk_calls.count--;
		push_place(r, stack, FRAME_CALL, call->slot, call->from, SYSCALL_PLAIN, addr, place);
		return;
	}
	if (!stack->depth) {
		*room(r, stack) = (struct frame){ .kind = FRAME_BASE };
		enter(r, stack, addr, place.function, at_start);
		return;
	}
	t = top(stack);
	if (!at_start && t->from == addr && is_trampoline(r, t->function)) {
		pop_call(r, stack);
		return;
	}
	t = find_tail(stack, place.function, &tails);
	if (t)
		cut_by(r, stack, (size_t)(t - stack->frames) + 1, FRAME_JUMPED);
	if (t && (kind == EVENT_ARRIVE || !at_start || place.at & IN_GROUP))
		return;
	cut_stuffing(r, stack);
	if (!t && tails < TAILS_MAX && is_tail_call(r, stack, kind, place)) {
		push_tail(r, stack, addr, place);
		return;
	}
	pop_without_return(r, stack, FRAME_JUMPED); /* the new frame has its kind and return address */
	enter(r, stack, addr, place.function, at_start);
}

/* The frame that was called with its return address in that slot; depth of the stack: none. */
static size_t find_slot(const struct stack *stack, uint64_t slot)
{
	for (size_t i = stack->depth; i-- > 0;) {
		const struct frame *f = &stack->frames[i];

		if (frame_is_called(f) && f->slot == slot)
			return i;
		if (is_entry(f))
			break;
	}
	return stack->depth;
}

/*
 * Is the return that matches nothing a new thread's first one? Where the functions that it would lead to have no names,
 * the first one is.
 */
static bool starts_thread(struct replay *r, struct stack *stack, uint64_t addr)
{
	uint32_t function = place_of(r, addr).function;
	bool first = !stack->started && stack->thread != THREAD_NONE;

	if (r->stacks->names->n_own)
		return function == r->new_thread[0] || function == r->new_thread[1];
	stack->started = true;
	return first;
}

/*
 * A call whose return address was replaced has returned: to a trampoline that will go on to it, or it was a retpoline's
 * jump.
 */
static void return_elsewhere(struct replay *r, struct stack *stack, const struct event *e, uint64_t from)
{
	struct place place = place_of(r, e->target);

	if (is_start(place) && is_trampoline(r, place.function))
		push_place(r, stack, FRAME_CALL, e->slot, from, SYSCALL_PLAIN, e->target, place);
	else
		jump(r, stack, e->target, e->kind);
}

/* A return that is not just the end of the top frame. Returns the stack that runs then. */
static __attribute__((noinline)) struct stack *go_elsewhere(struct replay *r, struct stack *stack,
							    const struct event *e)
{
	size_t i = find_slot(stack, e->slot);
	struct unmatched *u = &r->stacks->unmatched;
	const struct frame *t = top(stack);
	struct stack *other = i == stack->depth ? replay_switch_foreign(r, stack, e) : NULL;
	uint64_t thunks;

	if (other)
		return other;
	if (stack->thunk_calls.count && thunk_calls_return(stack, e->slot, &thunks)) {
		stack->began = true;
		if (thunks != e->target)
			jump(r, stack, e->target, EVENT_JUMP_INDIRECT);
		return stack;
	}
	if (i == stack->depth && t && frame_is_called(t) && t->from == e->target)
		i--; /* it has moved to another stack meanwhile: error_entry in arch/x86/entry/entry_64.S */
	if (i < stack->depth) {
		uint64_t from = stack->frames[i].from;

		cut(r, stack, i + 1);
		pop_call(r, stack);
		stack->began = true;
		if (from != e->target)
			return_elsewhere(r, stack, e, from);
		return stack;
	}
	/* a call from before the gap returns: those that it had made did not */
	while (stack->behind_gap && stack->depth && is_left(r, top(stack), e->slot))
		cut(r, stack, stack->depth - 1);
	t = top(stack);
	if (stack->behind_gap)
		u->gap++;
	else if (starts_thread(r, stack, e->target) || !stack->began)
		u->new_thread++;
	else if (names_before_kernel(r->stacks->names, r->stacks->ns))
		u->firmware++;
	else if (!t || t->kind != FRAME_SIGNAL) /* a signal's handler returns to what the kernel left for it */
		u->elsewhere++;
	stack->began = true;
	jump(r, stack, e->target, e->kind);
	return stack;
}

static inline __attribute__((always_inline)) struct stack *go_back(struct replay *r, struct stack *stack,
								   const struct event *e)
{
	const struct frame *t = top(stack);

	r->stacks->unmatched.returns++;
	if (__builtin_expect(t && t->slot == e->slot && t->from == e->target && frame_is_called(t), 1)) {
		pop_call(r, stack);
		stack->began = true;
		return stack;
	}
	return go_elsewhere(r, stack, e);
}

/* Returns the stack that runs then. */
static inline __attribute__((always_inline)) struct stack *apply(struct replay *r, struct stack *stack,
								 const struct event *e)
{
	if (e->kind == EVENT_RETURN)
		stack = go_back(r, stack, e);
	else if (e->kind == EVENT_CALL || e->kind == EVENT_CALL_INDIRECT)
		call(r, stack, e);
	else if (e->kind <= EVENT_ARRIVE)
		jump(r, stack, e->target, e->kind);
	else if (e->kind == EVENT_INTERRUPT_RETURN)
		stack = replay_entry_return(r, stack, e);
	if (e->target)
		stack->place = e->target;
	return stack;
}

/*
 * Events of one task that runs all the time: they have no clock, and no new task comes before them. `timebase`: what
 * their times are made with; NULL: they have them.
 */
static inline __attribute__((always_inline)) void go_through_plain(struct replay *r, struct lane *lane,
								   const struct timebase *timebase,
								   const struct event *events, const struct event *end)
{
	struct stack *stack = lane->stack;
	uint64_t insns = lane->meter.insns, ns = lane->meter.ns, place = lane->place;

	for (const struct event *e = events; e < end; e++) {
		uint64_t now = timebase ? timebase_ns(timebase, e->insns) : e->ns;

		if (__builtin_expect(now >= r->stacks->due_ns, 0))
			set_lane(lane, insns, ns, place); /* it may be saved */
		if (!go_on(r, now))
			break;
		r->stacks->event = e;
		r->stacks->insns = e->insns;
		spend(r, stack, (struct spent){ .insns = e->insns - insns, .ns = now - ns });
		insns = e->insns;
		ns = now;
		stack = apply(r, stack, e);
		/*
		 * do not use stack->place: if no event has a target, that is still where the stack was last switched
		 * out
		 */
		if (e->target)
			place = e->target;
	}
	set_lane(lane, insns, ns, place);
}

void replay_written(struct replay *r, struct lane *lane, const struct event *events, const struct event *end)
{
	go_through_plain(r, lane, NULL, events, end);
}

void replay_untimed(struct replay *r, struct lane *lane, const struct batch *batch, const struct event *events,
			       const struct event *end)
{
	const struct timebase timebase = batch->timebase;

	go_through_plain(r, lane, &timebase, events, end);
}

void replay_plain(struct replay *r, struct stack *stack, const struct event *e)
{
	apply(r, stack, e);
}

void replay_jump(struct replay *r, struct stack *stack, uint64_t addr, enum event_kind kind)
{
	jump(r, stack, addr, kind);
}
