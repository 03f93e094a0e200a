/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "shapes.h"

struct shape *shapes_find(struct shapes *s, const struct stack *stack, const struct shape_key *key)
{
	struct shape *shape = &s->shapes[key->place];

	if (shape->serial != key->serial || shape->from != key->from || shape->version != key->version ||
	    shape->callee != stack->frames[stack->depth - 1].function)
		return NULL;
	return shape;
}

const struct thunk_exit *shapes_exit(const struct shapes *s, const struct shape_key *key)
{
	const struct thunk_exit *exit = &s->exits[key->place];

	return exit->serial == key->serial && exit->from == key->from && exit->version == key->version ? exit : NULL;
}

void shapes_keep_exit(struct shapes *s, const struct shape_key *key, const struct thunk_exit *exit)
{
	struct thunk_exit *kept = &s->exits[key->place];

	*kept = *exit;
	kept->serial = key->serial;
	kept->from = key->from;
	kept->version = key->version;
}

void shapes_begin(struct shapes *s, const struct stacks *stacks, const struct stack *stack, const struct shape_key *key)
{
	s->recorded = &s->shapes[key->place];
	*s->recorded = (struct shape){ .callee = stack->frames[stack->depth - 1].function };
	s->depth = stack->depth;
	s->thunk_calls = stack->thunk_calls.count;
	s->insns = stack->insns;
	s->before = stacks->unmatched;
	s->own_left = s->odd = false;
}

/* Is the top frame the only one of its function, from the call's frame on? */
static bool is_outermost(const struct shapes *s, const struct stack *stack)
{
	uint32_t function = stack->frames[stack->depth - 1].function;

	for (size_t i = s->depth - 1; i < stack->depth - 1; i++)
		if (stack->frames[i].function == function)
			return false;
	return true;
}

void shapes_leave(struct shapes *s, const struct stack *stack)
{
	const struct frame *frame = &stack->frames[stack->depth - 1];
	struct shape *shape = s->recorded;

	if (stack->depth < s->depth || shape->count == SHAPE_FRAMES || frame->function >> SHAPE_FUNCTION_BITS ||
	    stack->insns - s->insns > UINT16_MAX) {
		s->odd = true;
		return;
	}
	shape->frames[shape->count++] = (struct shape_frame){
		.function = frame->function, .entered = (uint16_t)(frame->insns - s->insns),
		.left = (uint16_t)(stack->insns - s->insns), .own = stack->depth == s->depth && !s->own_left,
		.at_start = frame->at_start, .tail = frame->kind == FRAME_TAIL, .outermost = is_outermost(s, stack),
	};
	s->own_left |= stack->depth == s->depth;
}

static bool all_matched(const struct unmatched *before, const struct unmatched *after)
{
	return before->abandoned == after->abandoned && before->elsewhere == after->elsewhere &&
	       before->new_thread == after->new_thread && before->gap == after->gap &&
	       before->firmware == after->firmware;
}

void shapes_end(struct shapes *s, const struct stacks *stacks, const struct stack *stack, const struct shape_key *key)
{
	struct shape *shape = s->recorded;

	if (s->odd || stack->depth != s->depth - 1 || stack->thunk_calls.count != s->thunk_calls ||
	    !all_matched(&s->before, &stacks->unmatched))
		return;
	shape->returns = (uint16_t)(stacks->unmatched.returns - s->before.returns);
	shape->serial = key->serial;
	shape->from = key->from;
	shape->version = key->version;
}
