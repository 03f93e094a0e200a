/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose stack it is: tasks begin, are switched to, and end. */
#include "stacks_frames.h"

struct stack *replay_stack_of(struct stacks *s, uint64_t task, unsigned cpu, uint64_t ns)
{
	long thread = task ? threads_find(s->threads, task, ns) : THREAD_NONE;

	return thread == THREAD_NONE ? &s->list[s->threads->count + cpu] : &s->list[thread];
}

static void finish(struct replay *r, struct stack *stack)
{
	cut_by(r, stack, 0, FRAME_DIED);
	free(stack->frames);
	free(stack->thunk_calls.list);
	stack->frames = NULL;
	stack->cap = 0;
	stack->thunk_calls = (struct thunk_calls){ 0 };
}

/* The last that a task ever does is to be switched from in do_task_dead(): kernel/sched/core.c. */
static bool is_dead(const struct replay *r, const struct stack *stack)
{
	enum { NEAR_TOP = 6 };
	size_t i = stack->depth;

	while (i-- > 0 && stack->depth - i <= NEAR_TOP)
		if (stack->frames[i].function == r->dead)
			return true;
	return false;
}

bool replay_finish_dead(struct replay *r, struct stack *stack)
{
	if (stack->thread == THREAD_NONE || !is_dead(r, stack))
		return false;
	finish(r, stack);
	return true;
}

/*
 * A new task begins with its creator's user code on its stack, and as if it
 * returned from the same system call; a new thread has a user stack of its own.
 */
static void inherit(struct replay *r, const struct stack *from, const struct task_record *record)
{
	struct stack *to = replay_stack_of(r->stacks, record->task, record->cpu, record->ns);
	size_t user = 0;
	int cpu = to->cpu;

	while (user < from->depth && !is_entry(&from->frames[user]))
		user++;
	if (to == from || to->depth || !record->mm || user == from->depth)
		return;
	to->cpu = from->cpu;
	for (size_t i = record->pid == record->tgid ? 0 : user; i <= user; i++) {
		const struct frame *f = &from->frames[i];

		*room(r, to) = *f;
		enter(r, to, f->addr, f->function, f->at_start);
	}
	to->cpu = cpu;
}

void replay_inherit_until(struct replay *r, struct lane *lane, unsigned cpu, uint64_t insns)
{
	const struct task_records *records = &r->reader->tasks;

	for (; lane->record < records->count; lane->record++) {
		const struct task_record *record = &records->records[lane->record];

		if (record->cpu != cpu || record->change != TASK_NEW)
			continue;
		if (record->insns > insns) {
			lane->record_insns = record->insns;
			return;
		}
		inherit(r, lane->stack, record);
	}
	lane->record_insns = UINT64_MAX;
}

void replay_pass_tasks(struct replay *r, struct lane *lane, unsigned cpu, uint64_t insns)
{
	const struct task_records *records = &r->reader->tasks;

	while (lane->record < records->count &&
	       (records->records[lane->record].cpu != cpu || records->records[lane->record].insns <= insns))
		lane->record++;
	lane->record_insns = 0; /* it is yet to be looked at */
}

/* A boot begins on the vCPU, and has begun for all: who ran before was of the last one. */
static bool is_begun(const struct replay *r, const struct event *e)
{
	return !e->args[1] && r->next_boot > 1 && e->ns == r->stacks->names->boots->list[r->next_boot - 1].start_ns;
}

void replay_take_from_others(struct replay *r, struct stack *stack, unsigned cpu)
{
	int other = stack->cpu;
	struct stack *own;

	if (other < 0 || other == (int)cpu)
		return;
	own = &r->stacks->list[r->stacks->threads->count + (unsigned)other];
	replay_take_from_others(r, own, (unsigned)other);
	r->lanes[other].stack = own;
	own->cpu = other;
	stack->cpu = -1;
}

void replay_switch_task(struct replay *r, struct lane *lane, const struct event *e, unsigned cpu)
{
	struct stack *before = lane->stack, *previous = replay_stack_of(r->stacks, e->args[0], cpu, e->ns);
	struct stack *next = replay_stack_of(r->stacks, e->args[1], cpu, e->ns);

	if (before->thread == THREAD_NONE && previous != before && !previous->depth && !is_begun(r, e)) {
		/* this was the vCPU's first task all the time */
		long thread = previous->thread;
		struct stack empty;

		replay_take_from_others(r, previous, cpu);
		empty = *previous;
		*previous = *before;
		previous->thread = thread;
		empty.thread = THREAD_NONE;
		*before = empty;
		if (r->visitor->move)
			r->visitor->move(r->state, r->stacks, before, previous);
		before = previous;
	}
	if (r->visitor->switched)
		r->visitor->switched(r->state, r->stacks, before, next, cpu);
	if (!e->args[1]) /* the vCPU begins anew: what it was in the middle of will never go on */
		cut_by(r, before, 0, FRAME_DIED);
	if (before != next)
		replay_finish_dead(r, before);
	replay_take_from_others(r, next, cpu);
	before->cpu = -1;
	next->cpu = (int)cpu;
	lane->stack = next;
}

const struct stack *stacks_running(const struct stacks *s, uint64_t task, unsigned cpu, uint64_t ns)
{
	long thread = task ? threads_find(s->threads, task, ns) : THREAD_NONE;

	if (thread != THREAD_NONE)
		return &s->list[thread];
	for (size_t i = 0; i < s->count; i++)
		if (s->list[i].cpu == (int)cpu)
			return &s->list[i];
	return NULL;
}
