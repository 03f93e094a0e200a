/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "last_calls.h"

struct last_calls_run {
	uint32_t stack;
	const bool *hidden;
	size_t hidden_depth;   /* of the stack, within a call that has no row; 0: it is in none */
	bool begun;            /* the thread has made a call */
	struct last_call ring[LAST_CALLS];
	uint64_t seen;         /* calls so far; the last of them are in the ring */
};

static bool has_row(const struct last_calls_run *run, const struct frame *frame)
{
	return frame->kind != FRAME_INTERRUPT && !run->hidden[frame->function];
}

/* A replay from the middle may begin in a call that has no row. */
static void begin(struct last_calls_run *run, const struct stack *stack)
{
	run->begun = true;
	for (size_t i = 0; i + 1 < stack->depth && !run->hidden_depth; i++)
		if (!has_row(run, &stack->frames[i]))
			run->hidden_depth = i + 1;
}

static void enter(void *state, struct stacks *s, struct stack *stack, struct frame *frame)
{
	struct last_calls_run *run = state;

	if (stack != &s->list[run->stack])
		return;
	frame->data = 0;
	if (!run->begun)
		begin(run, stack);
	if (run->hidden_depth)
		return;
	if (!has_row(run, frame)) {
		run->hidden_depth = stack->depth;
		return;
	}
	if (!frame->at_start || frame->kind == FRAME_BASE)
		return;
	run->ring[run->seen % LAST_CALLS] = (struct last_call){
		.function = frame->function, .depth = (uint32_t)stack->depth - 1, .start_ns = s->ns,
		.end_ns = UINT64_MAX,
	};
	frame->data = (uint32_t)++run->seen;
}

static void leave(void *state, struct stacks *s, struct stack *stack, const struct frame *frame)
{
	struct last_calls_run *run = state;
	struct last_call *call = &run->ring[(frame->data - 1) % LAST_CALLS];

	if (stack != &s->list[run->stack])
		return;
	if (stack->depth == run->hidden_depth)
		run->hidden_depth = 0;
	if (s->end == FRAME_LOST) /* when that was is not known */
		return;
	/* else it is another's place by now, or the frame was there before */
	if (frame->data && call->start_ns == frame->entry_ns && call->depth == stack->depth - 1)
		call->end_ns = s->ns;
}

static void forget(void *state, struct stacks *s, struct stack *stack, size_t n)
{
	struct last_calls_run *run = state;

	if (stack == &s->list[run->stack] && run->hidden_depth)
		run->hidden_depth = run->hidden_depth > n ? run->hidden_depth - n : 1;
}

static int replay(struct last_calls_run *run, const struct session *session, const struct checkpoint *from,
		  uint64_t before_ns, struct error *err)
{
	static const struct stacks_visitor visitor = { .enter = enter, .leave = leave, .forget = forget };
	struct stacks stacks;
	int r;

	run->seen = run->hidden_depth = 0;
	run->begun = false;
	r = stacks_replay(&stacks, session, from, before_ns, &visitor, run, err);
	stacks_deinit(&stacks);
	return r;
}

/* From further and further back, until there are enough. */
static int replay_end(struct last_calls_run *run, const struct session *session, uint64_t before_ns, struct error *err)
{
	struct index *x = session->index;
	struct checkpoint from;

	for (size_t back = 0, at = x ? index_at(x, before_ns) : 0; x && back < at; back = 2 * back + 1) {
		if (!index_checkpoint(x, at - back, &from))
			break;
		if (replay(run, session, &from, before_ns, err) < 0)
			return -1;
		if (run->seen >= LAST_CALLS)
			return 0;
	}
	return replay(run, session, NULL, before_ns, err);
}

int last_calls_find(const struct session *session, uint32_t stack, uint64_t before_ns, const bool *hidden,
		    struct last_calls *ret, struct error *err)
{
	struct last_calls_run run = { .stack = stack, .hidden = hidden };
	int r = stack < stacks_count(session) ? replay_end(&run, session, before_ns, err) : 0;

	*ret = (struct last_calls){ .count = run.seen < LAST_CALLS ? (unsigned)run.seen : LAST_CALLS };
	for (unsigned i = 0; r == 0 && i < ret->count; i++)
		ret->list[i] = run.ring[(run.seen - ret->count + i) % LAST_CALLS];
	return r;
}
