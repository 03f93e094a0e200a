/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Goes past phrases: what one does to a stack is done at once, if it was replayed before. */
#include "stacks_state.h"

#include <string.h>

#include "shapes.h"
#include "walk.h"

/* What was called just now returns behind the phrase, and nothing else is to be known of it. */
static void go_past(struct replay *r, struct lane *lane, const struct batch *batch, const struct phrase_use *use,
		    const struct shape *shape)
{
	const struct event *call = &batch->events[use->call];
	struct stack *stack = lane->stack;
	uint64_t end = call->insns + phrase_insns(batch->phrases, use->phrase), insns = end - lane->meter.insns;
	uint64_t ns = timebase_ns(&batch->timebase, end);
	const struct stacks_phrase phrase = {
		.shape = shape, .insns = lane->meter.insns, .timebase = &batch->timebase,
		.spent = { .insns = insns, .ns = ns - lane->meter.ns },
	};

	r->visitor->phrase(r->state, r->stacks, stack, &phrase);
	stack->insns += insns;
	stack->ns += phrase.spent.ns;
	stack->depth--;
	stack->began = true;
	stack->place = call->from;
	set_lane(lane, end, ns, call->from);
	r->stacks->ns = ns;
	r->stacks->unmatched.returns += shape->returns;
}

/*
 * Will all places that the phrase's events lead to have the same names whenever they come? One that leads from kernel
 * code to user code or the other way is damage.
 */
static bool names_last(struct replay *r, const struct event *call, const struct event *end, uint32_t version)
{
	struct place place;

	for (const struct event *e = call + 1; e < end; e++)
		if (addr_is_kernel(e->target) != addr_is_kernel(call->from) ||
		    !name_cache_lasting(r->cache, e->target, r->stacks->ns, version, &place))
			return false;
	return true;
}

/* Do what the phrase's events up to the thunk's exit did when they were replayed. */
static void go_to_exit(struct replay *r, struct lane *lane, const struct batch *batch, const struct event *call,
		       const struct thunk_exit *exit)
{
	struct stack *stack = lane->stack;
	uint64_t insns = call->insns + exit->insns, ns = timebase_ns(&batch->timebase, insns);

	r->stacks->ns = ns;
	r->stacks->event = call;
	spend(r, stack, (struct spent){ .insns = insns - lane->meter.insns, .ns = ns - lane->meter.ns });
	stack->began |= exit->returns > 0;
	stack->thunk_calls.count--;
	stack->place = exit->target;
	set_lane(lane, insns, ns, exit->target);
	r->stacks->unmatched.returns += exit->returns;
	replay_push_call(r, stack, call, exit->target);
}

/* Replay the phrase up to the thunk's exit. Returns the event behind. */
static const struct event *replay_to_exit(struct replay *r, struct lane *lane, struct batch *batch,
					  struct phrase_use *use, const struct shape_key *key, const struct event *end)
{
	const struct event *call = &batch->events[use->call], *e = call + 1;
	struct stack *stack = lane->stack;
	size_t thunk_calls = stack->thunk_calls.count, depth = stack->depth;
	const struct unmatched before = r->stacks->unmatched;
	struct unmatched after;

	batch_write_phrase(batch, use);
	while (e < end && thunk_calls_last(stack)) {
		replay_untimed(r, lane, batch, e, e + 1);
		e++;
	}
	after = r->stacks->unmatched;
	after.returns = before.returns;
	if (stack->depth == depth + 1 && stack->thunk_calls.count == thunk_calls - 1 &&
	    e[-1].target == stack->frames[depth].addr && !memcmp(&before, &after, sizeof before) &&
	    names_last(r, call, e, key->version))
		shapes_keep_exit(lane->shapes, key, &(struct thunk_exit){
			.target = e[-1].target, .insns = (uint16_t)(e[-1].insns - call->insns),
			.events = (uint16_t)(e - call - 1),
			.returns = (uint16_t)(r->stacks->unmatched.returns - before.returns),
		});
	return e;
}

/*
 * Replay the phrase up to where the thunk that was called leads to: its call is on top of the stack then. Returns the
 * event behind; the end, if all was replayed since the call did not get a frame like that.
 */
static const struct event *leave_thunk(struct replay *r, struct lane *lane, struct batch *batch, struct phrase_use *use,
				       const struct shape_key *key, const struct event *end)
{
	const struct event *call = &batch->events[use->call], *e;
	const struct thunk_call *pending = &lane->stack->thunk_calls.list[lane->stack->thunk_calls.count - 1];
	const struct thunk_exit *exit = shapes_exit(lane->shapes, key);
	const struct frame *t;

	if (exit && pending->slot == call->slot && pending->from == call->from) {
		go_to_exit(r, lane, batch, call, exit);
		return call + 1 + exit->events;
	}
	e = replay_to_exit(r, lane, batch, use, key, end);
	t = lane->stack->depth ? &lane->stack->frames[lane->stack->depth - 1] : NULL;
	if (t && t->kind == FRAME_CALL && t->slot == call->slot && t->from == call->from)
		return e;
	replay_untimed(r, lane, batch, e, end);
	return end;
}

/* The phrase behind a call that is on top of the stack, or is a thunk's. */
static void apply_phrase(struct replay *r, struct lane *lane, struct batch *batch, struct phrase_use *use,
			 uint32_t version)
{
	const struct event *call = &batch->events[use->call], *e = call + 1;
	const struct shape_key key = {
		.place = use->phrase, .serial = batch->phrases->places[use->phrase].serial,
		.version = name_cache_version(r->cache, call->from, version), .from = call->from,
	};
	const struct event *end = e + phrase_count(batch->phrases, use->phrase);
	struct shape *shape;

	if (__builtin_expect(lane->stack->thunk_calls.count, 0) && thunk_calls_last(lane->stack))
		e = leave_thunk(r, lane, batch, use, &key, end);
	if (e == end)
		return;
	shape = shapes_find(lane->shapes, lane->stack, &key);
	if (shape && r->visitor->takes && !r->visitor->takes(r->state, lane->stack, shape)) {
		batch_write_phrase(batch, use);
		replay_untimed(r, lane, batch, e, end);
		return;
	}
	if (shape) {
		go_past(r, lane, batch, use, shape);
		return;
	}
	batch_write_phrase(batch, use);
	shapes_begin(lane->shapes, r->stacks, lane->stack, &key);
	r->recording = lane->shapes;
	replay_untimed(r, lane, batch, e, end);
	r->recording = NULL;
	if (names_last(r, call, end, version))
		shapes_end(lane->shapes, r->stacks, lane->stack, &key);
}

void replay_brief(struct replay *r, struct lane *lane, struct batch *batch, const struct event *end)
{
	uint32_t version = spaces_at(&r->stacks->names->spaces, &lane->view, r->task, batch->events->ns);
	const struct event *e = batch->events;

	for (size_t i = 0; i < batch->n_uses; i++) {
		struct phrase_use *use = &batch->uses[i];
		const struct event *behind = &batch->events[use->call + 1];

		if (use->written)
			continue;
		replay_untimed(r, lane, batch, e, behind);
		if (r->stacks->stop)
			return;
		apply_phrase(r, lane, batch, use, version);
		e = behind + phrase_count(batch->phrases, use->phrase);
	}
	replay_untimed(r, lane, batch, e, end);
}
