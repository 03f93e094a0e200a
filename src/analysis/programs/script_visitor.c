/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hears a replay for a program: what of it fires which probes. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "replay/index.h"
#include "replay/shapes.h"
#include "script_runner.h"
#include "script_worth.h"

/* software:page-faults:100: every hundredth of a vCPU */
static bool is_due(struct script_runner *r, uint32_t number, const struct script_place *at)
{
	uint64_t every = r->o->script->handlers[at->handler].places[at->place].count;
	uint64_t *counted = &r->counted[(size_t)r->now.cpu * r->places.others.first[OTHERS] + number];

	if (every < 2 || r->now.cpu >= r->vcpus)
		return true;
	*counted = (*counted + 1) % every;
	return !*counted;
}

static void fire_counted(struct script_runner *r, struct stacks *s, enum script_other other)
{
	const struct script_index *x = &r->places.others;

	if (r->now.ns < r->o->from_ns || r->now.ns >= r->o->to_ns)
		return;
	for (uint32_t i = x->first[other]; i < x->first[other + 1] && !r->over; i++) {
		if (!is_due(r, i, &x->list[i]))
			continue;
		r->now.at = x->list[i];
		r->over = !machine_fire(r->machine, x->list[i].handler);
	}
	if (r->over)
		s->stop = true;
}

static void set_frame_moment(struct script_runner *r, const struct stacks *s, const struct stack *stack,
			     const struct frame *frame)
{
	r->now = (struct moment){
		.stack = stack,
		.frame = frame,
		.function = frame->function,
		.has_function = true,
		.ns = s->ns,
		.insns = s->insns,
		.cpu = stack->cpu < 0 ? 0 : (unsigned)stack->cpu,
		.id = frame->function,
	};
}

/*
 * Which system call a frame is of, in its data, which a fork's child has, too: a bit, the interface, and the number
 * with its sign, of which no call needs all bits. The frame of a signal's handler has that of the call that it
 * overtook.
 */
enum { CALL = 1, CALL_ABI = 1, CALL_ABIS = 7, CALL_NR = 4 };

static uint32_t call_data(uint64_t nr, uint64_t abi)
{
	return (uint32_t)nr << CALL_NR | (uint32_t)(abi & CALL_ABIS) << CALL_ABI | CALL;
}

static unsigned call_abi(uint32_t data)
{
	return data >> CALL_ABI & CALL_ABIS;
}

/* By which the places are sorted that are at it. */
static uint32_t call_number(uint32_t data)
{
	return call_abi(data) || data >> CALL_NR >= SCRIPT_OTHER_SYSCALL ? SCRIPT_OTHER_SYSCALL : data >> CALL_NR;
}

static void begin_syscall(struct script_runner *r, struct stacks *s, struct stack *stack, struct frame *frame)
{
	const struct event *e = s->event;

	if (!e || e->kind != EVENT_SYSCALL)
		return;
	frame->data = call_data(e->args[0], e->args[7]);
	if (!script_index_has(&r->places.calls, call_number(frame->data)))
		return;
	set_frame_moment(r, s, stack, frame);
	r->now.has_function = false;
	r->now.id = (uint32_t)e->args[0];
	r->now.args = e->args + 1;
	r->now.text_insns = e->insns;
	script_fire(r, s, &r->places.calls, call_number(frame->data));
}

/* Is the frame left by an event that leads back to user code? */
static bool is_return(const struct stacks *s)
{
	const struct event *e = s->event;

	return e && (e->kind == EVENT_SYSCALL_RETURN || e->kind == EVENT_INTERRUPT_RETURN) && s->end != FRAME_DIED &&
	       s->end != FRAME_LOST;
}

/* False: a signal's handler runs first. */
static bool find_result(const struct script_runner *r, const struct event *e, const struct frame *frame, uint64_t *ret)
{
	enum { ERESTARTSYS = 512 }; /* what the kernel has until the call is made again */
	const struct arch *arch = r->o->session->reader->arch;
	bool leads_on = frame->kind == FRAME_SYSCALL &&
			(frame->role == SYSCALL_EXEC || frame->role == SYSCALL_SIGRETURN);

	*ret = e->kind == EVENT_SYSCALL_RETURN ? e->args[0] : e->args[1];
	*ret = (uint64_t)syscall_result(arch_abi(arch, call_abi(frame->data)), *ret);
	if (leads_on || !frame->from || e->target == frame->from)
		return true;
	*ret = -(uint64_t)ERESTARTSYS;
	return e->target == frame->from - arch->syscall_length;
}

/* That of a call which a handler overtook comes when that is through, with the time at which the call itself ended. */
static void end_syscall(struct script_runner *r, struct stacks *s, struct stack *stack, const struct frame *frame)
{
	bool is_handler = frame->kind == FRAME_SIGNAL, restores = !is_handler && frame->role == SYSCALL_SIGRETURN;
	uint32_t number = restores ? SCRIPT_OTHER_SYSCALL : call_number(frame->data);
	uint64_t result;

	if (!frame->data || !is_return(s))
		return;
	if (!find_result(r, s->event, frame, &result)) {
		r->overtaken = is_handler ? 0 : frame->data;
		return;
	}
	if (!script_index_has(&r->places.results, number))
		return;
	set_frame_moment(r, s, stack, frame);
	if (is_handler) /* its begin, when the call ended, may lie before the part that is asked for */
		r->now.ns = frame->entry_ns > r->o->from_ns || s->ns < r->o->from_ns ? frame->entry_ns : r->o->from_ns;
	r->now.has_function = false;
	/* once it has restored the registers, no call has the number any more */
	r->now.id = restores ? UINT32_MAX : (uint32_t)((int32_t)frame->data >> CALL_NR);
	r->now.result = result;
	r->now.exits = true;
	script_fire(r, s, &r->places.results, number);
}

static void begin_interrupt(struct script_runner *r, struct stacks *s, struct stack *stack, struct frame *frame)
{
	enum { PAGE_FAULT = 14 };

	if (frame->role != PAGE_FAULT || frame->data || !script_index_has(&r->places.others, OTHER_FAULT))
		return;
	frame->data = 1;
	set_frame_moment(r, s, stack, frame);
	r->now.faults = true;
	fire_counted(r, s, OTHER_FAULT);
}

static void spend_nothing(struct script_runner *r, const struct stacks *s, const struct stack *stack)
{
	struct spending *p = &r->spending[stack - s->list];

	p->of = array_reach(p->of, stack->depth, &p->cap, sizeof *p->of);
	p->of[stack->depth - 1].ns = p->of[stack->depth - 1].insns = 0;
}

static void enter(void *state, struct stacks *s, struct stack *stack, struct frame *frame)
{
	struct script_runner *r = state;

	if (r->spending)
		spend_nothing(r, s, stack);
	if (script_index_has(&r->places.entries, frame->function) && frame_is_entered(s, frame)) {
		set_frame_moment(r, s, stack, frame);
		script_fire(r, s, &r->places.entries, frame->function);
	}
	if (frame->kind == FRAME_SIGNAL)
		frame->data = r->overtaken;
	r->overtaken = 0;
	if (frame->kind == FRAME_SYSCALL)
		begin_syscall(r, s, stack, frame);
	else if (frame->kind == FRAME_INTERRUPT)
		begin_interrupt(r, s, stack, frame);
}

/* What a call had, itself and with its callees; its caller has that in its callees. */
static void end_spending(struct script_runner *r, const struct stacks *s, const struct stack *stack, uint64_t ns,
			 uint64_t insns)
{
	struct spending *p = &r->spending[stack - s->list];
	size_t depth = stack->depth;

	if (depth > 1 && depth <= p->cap) {
		p->of[depth - 2].ns += ns;
		p->of[depth - 2].insns += insns;
	}
}

static void leave(void *state, struct stacks *s, struct stack *stack, const struct frame *frame)
{
	struct script_runner *r = state;
	uint64_t ns = stack->ns - frame->ns, insns = stack->insns - frame->insns;

	if (script_index_has(&r->places.returns, frame->function) && s->end == FRAME_RETURNED && frame->at_start) {
		set_frame_moment(r, s, stack, frame);
		r->now.ends = true;
		r->now.duration_ns = s->ns - frame->entry_ns;
		r->now.duration_insns = insns;
		if (r->spending) {
			const struct spending *p = &r->spending[stack - s->list];

			r->now.self_ns = ns - p->of[stack->depth - 1].ns;
			r->now.self_insns = insns - p->of[stack->depth - 1].insns;
		}
		script_fire(r, s, &r->places.returns, frame->function);
	}
	if (r->spending)
		end_spending(r, s, stack, ns, insns);
	if (frame->kind == FRAME_SYSCALL || frame->kind == FRAME_SIGNAL)
		end_syscall(r, s, stack, frame);
}

static bool fires_in(const struct script_runner *r, const struct shape *shape)
{
	for (unsigned i = 0; i < shape->count; i++) {
		uint32_t f = shape->frames[i].function;

		if (script_index_has(&r->places.entries, f) || script_index_has(&r->places.returns, f))
			return true;
	}
	return false;
}

/* A phrase in which nothing fires is gone past. */
static bool takes(void *state, const struct stack *stack, struct shape *shape)
{
	(void)stack;
	if (!shape->judged) {
		shape->judged = true;
		shape->odd = fires_in(state, shape);
	}
	return !shape->odd;
}

static void phrase(void *state, struct stacks *s, struct stack *stack, const struct stacks_phrase *p)
{
	struct script_runner *r = state;
	const struct frame *own = &stack->frames[stack->depth - 1];

	if (r->spending)
		end_spending(r, s, stack, stack->ns + p->spent.ns - own->ns,
			     stack->insns + p->spent.insns - own->insns);
}

/* Deeper frames have other numbers from here on. */
static void forget(void *state, struct stacks *s, struct stack *stack, size_t n)
{
	struct script_runner *r = state;
	struct spending *p = r->spending ? &r->spending[stack - s->list] : NULL;

	if (p && stack->depth <= p->cap)
		memmove(p->of, p->of + n, (stack->depth - n) * sizeof *p->of);
}

static void switched(void *state, struct stacks *s, const struct stack *from, const struct stack *to, unsigned cpu)
{
	struct script_runner *r = state;

	if (r->running && cpu < r->vcpus)
		r->running[cpu] = to;
	if (from == to || !script_index_has(&r->places.others, OTHER_SWITCH))
		return;
	r->now = (struct moment){ .stack = from, .ns = s->ns, .insns = s->insns, .cpu = cpu };
	fire_counted(r, s, OTHER_SWITCH);
}

static void find_running(struct script_runner *r, const struct stacks *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->list[i].cpu >= 0 && (unsigned)s->list[i].cpu < r->vcpus)
			r->running[s->list[i].cpu] = &s->list[i];
}

/* Is there a call in progress whose return fires? */
static bool awaits_return(const struct script_runner *r, const struct stacks *s)
{
	for (size_t i = 0; i < s->count; i++)
		for (size_t k = 0; k < s->list[i].depth; k++)
			if (script_index_has(&r->places.returns, s->list[i].frames[k].function))
				return true;
	return false;
}

/* At each moment of the index: is it worth to go on? */
static uint64_t at_entry(struct script_runner *r, struct stacks *s)
{
	const struct index *x = r->o->session->index;

	while (r->entry + 1 < x->count && x->entries[r->entry + 1].ns <= s->ns)
		r->entry++;
	if (!script_is_worth(r, r->entry) && !awaits_return(r, s))
		s->stop = r->skips = true;
	return script_end_of_entry(r, r->entry);
}

/* More will come: it goes on later from where all is known. */
static void stop_there(struct script_runner *r, struct stacks *s)
{
	uint64_t until = r->o->until_ns;

	if (s->ns >= until) {
		script_state_save(r, s, until);
		s->stop = r->skips = true;
	} else if (until < s->due_ns) {
		s->due_ns = until;
	}
}

void script_begin_replay(struct script_runner *r, struct stacks *s)
{
	if (r->replays)
		return;
	script_state_restore(&r->state, s);
	find_running(r, s);
	r->replays = true;
}

static void due(void *state, struct stacks *s)
{
	struct script_runner *r = state;
	uint64_t next, entry_ns;

	s->due_ns = UINT64_MAX;
	if (r->fire) /* it hears of nothing but calls */
		return;
	script_begin_replay(r, s);
	next = script_tell_beside(r, s, r->o->grows && s->ns > r->o->until_ns ? r->o->until_ns : s->ns);
	s->due_ns = next == UINT64_MAX ? next : next + 1;
	if (r->o->grows && !s->stop) {
		stop_there(r, s);
		return;
	}
	if (r->skips_parts && !s->stop) {
		entry_ns = at_entry(r, s);
		s->due_ns = entry_ns < s->due_ns ? entry_ns : s->due_ns;
	}
}

struct stacks_visitor script_visitor(void)
{
	return (struct stacks_visitor){
		.enter = enter,
		.leave = leave,
		.switched = switched,
		.due = due,
		.phrase = phrase,
		.takes = takes,
		.forget = forget,
	};
}
