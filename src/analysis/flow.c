/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow.h"

/* Bits of a frame's data. */
enum { HIDDEN = 1, CUTS_IN = 2 };

struct flow_run {
	const struct flow_options *options;
	flow_taker take;
	void *taker_state;
	bool enough;
	bool waiting;             /* the last entry is not shown yet: if the call is left at once, they become one step */
	struct flow_step last;
	const struct stack *last_stack;
	const struct stack *only; /* the stack whose calls are shown, once it is known; NULL: all */
	size_t last_depth;
};

static void show_step(struct flow_run *st, const struct flow_step *step)
{
	st->enough = st->enough || st->take(st->taker_state, step) < 0;
}

static void show_waiting(struct flow_run *st)
{
	if (st->waiting)
		show_step(st, &st->last);
	st->waiting = false;
}

static const struct thread *thread_of(const struct stacks *s, const struct stack *stack)
{
	return stack->thread == THREAD_NONE ? NULL : &s->threads->list[stack->thread];
}

/* Depth below the outermost frame in which the thread was seen since from_ns. */
static uint32_t depth_of(struct stack *stack)
{
	/* a stack's data is the depth of that frame, 1 or more */
	uintptr_t bottom = (uintptr_t)stack->data;

	if (!bottom || stack->depth < bottom)
		stack->data = (void *)(bottom = stack->depth);
	return (uint32_t)(stack->depth - bottom);
}

/* Is the top frame shown? */
static bool is_shown(const struct flow_run *st, const struct stacks *s, const struct stack *stack, uint32_t depth)
{
	const struct flow_options *o = st->options;
	const struct thread *t = thread_of(s, stack);

	return !st->enough && (!st->only || st->only == stack) && s->ns < o->to_ns &&
	       (o->cpu < 0 || stack->cpu == o->cpu) && (!o->max_depth || depth < o->max_depth) && (!o->has_pid || (t && t->pid == o->pid));
}

static struct flow_step step_of(const struct stacks *s, const struct stack *stack, const struct frame *f,
				enum flow_kind kind, uint32_t depth)
{
	struct flow_step step = {
		.kind = kind, .frame = f->kind, .function = f->function, .addr = f->addr, .from = f->from, .depth = depth,
		.cpu = stack->cpu, .entry_ns = f->entry_ns, .thread = thread_of(s, stack), .cuts_in = f->data & CUTS_IN,
	};

	if (kind == FLOW_ENTER)
		return step;
	step.duration_ns = s->ns - f->entry_ns;
	step.ns = stack->ns - f->ns;
	step.insns = stack->insns - f->insns;
	return step;
}

/* The data of frame number `i`, whose callers have their data. */
static uint32_t data_of(const struct flow_run *st, const struct stacks *s, const struct stack *stack, size_t i)
{
	const struct flow_options *o = st->options;
	uint32_t data = i ? stack->frames[i - 1].data : 0;
	bool part = o->from_call && stack->frames[i].entry_ns <= o->from_ns && thread_of(s, stack) == o->caller;

	if (stack->frames[i].kind == FRAME_INTERRUPT && !part)
		data |= CUTS_IN | (o->no_interrupts ? HIDDEN : 0);
	return data;
}

static void enter(void *state, struct stacks *s, struct stack *stack, struct frame *frame)
{
	struct flow_run *st = state;
	uint32_t depth;

	frame->data = data_of(st, s, stack, stack->depth - 1);
	if (frame->data & HIDDEN || s->ns < st->options->from_ns)
		return;
	depth = depth_of(stack);
	if (st->options->min_duration_ns || !is_shown(st, s, stack, depth))
		return;
	show_waiting(st);
	st->only = st->options->one_thread ? stack : NULL;
	st->waiting = true;
	st->last = step_of(s, stack, frame, FLOW_ENTER, depth);
	st->last_stack = stack;
	st->last_depth = stack->depth;
}

static void leave(void *state, struct stacks *s, struct stack *stack, const struct frame *frame)
{
	struct flow_run *st = state;
	bool at_once = st->waiting && st->last_stack == stack && st->last_depth == stack->depth;
	struct flow_step step;
	uint32_t depth;

	if (frame->data & HIDDEN || s->ns < st->options->from_ns)
		return;
	depth = depth_of(stack);
	if (!is_shown(st, s, stack, depth))
		return;
	step = step_of(s, stack, frame, at_once || st->options->min_duration_ns ? FLOW_CALL : FLOW_LEAVE, depth);
	if (step.duration_ns < st->options->min_duration_ns)
		return;
	st->only = st->options->one_thread ? stack : NULL;
	st->waiting = st->waiting && !at_once;
	show_waiting(st);
	show_step(st, &step);
	s->stop = st->enough;
}

static void move(void *state, const struct stack *from, const struct stack *to)
{
	struct flow_run *st = state;

	if (st->only == from)
		st->only = to;
	if (st->last_stack == from)
		st->last_stack = to;
}

/* Called at the start, where it sets the data of a checkpoint's frames, and when the end is reached. */
static void due(void *state, struct stacks *s)
{
	const struct flow_run *st = state;

	for (size_t i = 0; !s->due_ns && i < s->count; i++)
		for (size_t k = 0; k < s->list[i].depth; k++)
			s->list[i].frames[k].data = data_of(st, s, &s->list[i], k);
	s->stop = st->enough || s->ns >= st->options->to_ns;
	s->due_ns = st->options->to_ns;
}

int flow_analyse(const struct session *session, const struct flow_options *options, flow_taker take, void *taker_state, struct error *err)
{
	static const struct stacks_visitor visitor = { .enter = enter, .leave = leave, .move = move, .due = due };
	struct flow_run st = { .options = options, .take = take, .taker_state = taker_state };
	struct checkpoint from;
	struct stacks stacks;
	bool midway = session->index && index_checkpoint(session->index, index_at(session->index, options->from_ns), &from);
	int result;

	result = stacks_replay(&stacks, session, midway ? &from : NULL, options->to_ns, &visitor, &st, err);
	show_waiting(&st);
	stacks_deinit(&stacks);
	return result;
}
