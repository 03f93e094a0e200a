/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow.h"

#include "base/alloc.h"
#include "replay/fold.h"
#include "replay/story.h"

/* Bits of a call. */
enum { HIDDEN = 1, CUTS_IN = 2, UNCHOSEN = 4 /* itself only */ };

enum { NO_THREAD = UINT32_MAX };

struct flow_run {
	const struct flow_options *options;
	const struct fold *fold;
	flow_taker take;
	void *taker_state;
	bool enough;
	/* the last entry is not shown yet: if the call is left at once, they become one step */
	bool waiting;
	struct flow_step last;
	uint32_t last_call;
	/* the story's number of the thread whose calls are shown, once it is known; NO_THREAD: all */
	uint32_t only;
	uint8_t *bits;            /* of each call, by the story's number */
	size_t cap_bits;
	/*
	 * of each thread: the depth of the outermost frame in which it was seen since from_ns, 1 or more; 0: none yet
	 */
	size_t *bottoms;
	size_t cap_bottoms;
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

static const struct thread *thread_of(const struct story_moment *m)
{
	return m->stack->thread == THREAD_NONE ? NULL : &m->stacks->threads->list[m->stack->thread];
}

/* Depth below the outermost frame in which the thread was seen since from_ns. */
static uint32_t depth_of(struct flow_run *st, const struct story_moment *m)
{
	size_t *bottom;

	st->bottoms = array_reach(st->bottoms, m->thread, &st->cap_bottoms, sizeof *st->bottoms);
	bottom = &st->bottoms[m->thread];
	if (!*bottom || m->depth + 1 < *bottom)
		*bottom = m->depth + 1;
	return (uint32_t)(m->depth + 1 - *bottom);
}

/* Is the top frame shown? */
static bool is_shown(const struct flow_run *st, const struct story_moment *m, uint32_t depth)
{
	const struct flow_options *o = st->options;

	return !st->enough && (st->only == NO_THREAD || st->only == m->thread) && m->ns < o->to_ns &&
	       (o->cpu < 0 || m->stack->cpu == o->cpu) && (!o->max_depth || depth < o->max_depth) &&
	       (!o->threads || (m->stack->thread != THREAD_NONE && o->threads[m->stack->thread]));
}

static struct flow_step step_of(const struct flow_run *st, const struct story_moment *m, enum flow_kind kind,
				uint32_t depth)
{
	const struct frame *f = m->frame;
	struct flow_step step = {
		.kind = kind, .frame = f->kind, .function = f->function, .addr = f->addr, .from = f->from,
		.depth = depth,
		.cpu = m->stack->cpu, .entry_ns = f->entry_ns, .thread = thread_of(m),
		.cuts_in = st->bits[m->call] & CUTS_IN,
	};

	if (kind == FLOW_ENTER) {
		if (st->options->values)
			step.args = call_values_args(st->options->values, f, step.thread ? step.thread->task : 0,
						     m->cpu, m->insns);
		return step;
	}
	if (st->options->values && m->end == FRAME_RETURNED)
		step.result = call_values_result(st->options->values, f, m->cpu, m->insns);
	step.end = m->end;
	step.duration_ns = m->ns - f->entry_ns;
	step.ns = m->stack->ns - f->ns;
	step.insns = m->stack->insns - f->insns;
	return step;
}

static uint8_t bits_of(struct flow_run *st, const struct story_moment *m)
{
	const struct flow_options *o = st->options;
	uint8_t bits;
	bool part = o->from_call && m->frame->entry_ns <= o->from_ns && thread_of(m) == o->caller;

	st->bits = array_reach(st->bits, m->call, &st->cap_bits, 1);
	bits = m->caller ? st->bits[m->caller] & (uint8_t)~UNCHOSEN : 0;
	if (m->frame->kind == FRAME_BASE && !fold_chooses(st->fold, m->frame->function))
		bits |= UNCHOSEN;
	if (m->frame->kind == FRAME_INTERRUPT && !part)
		bits |= CUTS_IN | (o->no_interrupts ? HIDDEN : 0);
	st->bits[m->call] = bits;
	return bits;
}

static void enter(struct flow_run *st, const struct story_moment *m)
{
	uint32_t depth;

	if (bits_of(st, m) & (HIDDEN | UNCHOSEN) || m->ns < st->options->from_ns)
		return;
	depth = depth_of(st, m);
	if (st->options->min_duration_ns || !is_shown(st, m, depth))
		return;
	show_waiting(st);
	st->only = st->options->one_thread ? m->thread : NO_THREAD;
	st->waiting = true;
	st->last = step_of(st, m, FLOW_ENTER, depth);
	st->last_call = m->call;
}

static void leave(struct flow_run *st, const struct story_moment *m)
{
	bool at_once = st->waiting && st->last_call == m->call;
	struct flow_step step;
	uint32_t depth;

	if (st->bits[m->call] & (HIDDEN | UNCHOSEN) || m->ns < st->options->from_ns)
		return;
	depth = depth_of(st, m);
	if (!is_shown(st, m, depth))
		return;
	step = step_of(st, m, at_once || st->options->min_duration_ns ? FLOW_CALL : FLOW_LEAVE, depth);
	if (step.duration_ns < st->options->min_duration_ns)
		return;
	st->only = st->options->one_thread ? m->thread : NO_THREAD;
	if (at_once)
		step.args = st->last.args;
	st->waiting = st->waiting && !at_once;
	show_waiting(st);
	show_step(st, &step);
	m->stacks->stop = st->enough;
}

/* Is it one of those that are asked for, in a thread that is? */
static bool shows_fact(const struct flow_run *st, const struct story_moment *m, long thread)
{
	const struct flow_options *o = st->options;

	return (m->fact->kind == FACT_LOG ? o->log : m->fact->kind == FACT_EVENT && o->events) && m->ns >= o->from_ns &&
	       m->ns < o->to_ns && (o->cpu < 0 || m->cpu == (unsigned)o->cpu) &&
	       (!o->threads || (thread != THREAD_NONE && o->threads[thread]));
}

/* Of the call that a record was made in; without one, of chosen calls, it is in none. */
static uint8_t bits_of_event(const struct flow_run *st, const struct stack *stack)
{
	if (!stack->depth)
		return st->fold ? UNCHOSEN : 0;
	return st->bits[story_call(&stack->frames[stack->depth - 1])];
}

/* Behind the innermost frame that the thread has and that is shown. */
static uint32_t depth_of_event(struct flow_run *st, const struct story_moment *m)
{
	const struct story_moment inner = { .thread = m->thread, .depth = m->stack->depth };
	uint32_t depth = depth_of(st, &inner), max = st->options->max_depth;

	return max && depth > max ? max : depth;
}

static void show_fact(struct flow_run *st, const struct story_moment *m)
{
	bool event = m->fact->kind == FACT_EVENT && m->stack;
	uint8_t bits = event ? bits_of_event(st, m->stack) : 0;
	long thread = m->fact->task ? threads_find(m->stacks->threads, m->fact->task, m->ns) : THREAD_NONE;

	if (!shows_fact(st, m, thread) || bits & (HIDDEN | UNCHOSEN) ||
	    (event && st->only != NO_THREAD && st->only != m->thread))
		return;
	show_waiting(st);
	st->only = st->options->one_thread && event ? m->thread : st->only;
	show_step(st, &(struct flow_step){
		.kind = m->fact->kind == FACT_LOG ? FLOW_LOG : FLOW_EVENT,
		.cpu = (int)m->cpu,
		.entry_ns = m->ns,
		.thread = thread == THREAD_NONE ? NULL : &m->stacks->threads->list[thread],
		.depth = event ? depth_of_event(st, m) : st->last.depth + 1,
		.fact = m->fact,
		.cuts_in = bits & CUTS_IN,
	});
	m->stacks->stop = st->enough;
}

static void hear(void *state, const struct story_moment *m)
{
	struct flow_run *st = state;

	if (m->kind == STORY_OPEN)
		bits_of(st, m);
	else if (m->kind == STORY_ENTER)
		enter(st, m);
	else if (m->kind == STORY_FACT)
		show_fact(st, m);
	else
		leave(st, m);
}

static uint64_t due(void *state, struct stacks *s)
{
	const struct flow_run *st = state;

	s->stop = st->enough || s->ns >= st->options->to_ns;
	return st->options->to_ns;
}

int flow_analyse(const struct session *session, const struct flow_options *options, flow_taker take, void *taker_state,
		 struct error *err)
{
	static const struct story_listener listener = {
		.hear = hear, .due = due,
		.kinds = 1u << STORY_OPEN | 1u << STORY_ENTER | 1u << STORY_LEAVE | 1u << STORY_FACT,
	};
	struct flow_run st = {
		.options = options, .fold = session->fold, .take = take, .taker_state = taker_state,
		.only = NO_THREAD,
	};
	void *states[] = { &st };
	struct checkpoint from;
	bool midway =
		session->index && index_checkpoint(session->index, index_at(session->index, options->from_ns), &from);
	const struct story_part part = { .from = midway ? &from : NULL, .to_ns = options->to_ns };
	int result = story_tell(session, &part, options->facts, &listener, states, 1, err);

	show_waiting(&st);
	free(st.bits);
	free(st.bottoms);
	return result < 0 ? -1 : 0;
}
