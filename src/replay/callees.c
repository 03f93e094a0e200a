/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "callees.h"

#include "base/alloc.h"

/* A stack's data: the callees of each frame, by depth. */
struct kept {
	struct callees *list;
	size_t cap;
};

void callees_enter(struct stack *stack)
{
	struct kept *k = stack->data;

	if (!k)
		k = stack->data = xcalloc(1, sizeof *k);
	k->list = array_grow(k->list, stack->depth - 1, &k->cap, sizeof *k->list);
	k->list[stack->depth - 1] = (struct callees){ 0 };
}

/* Add what the top frame ran to its caller's callees. */
static void add(const struct stack *stack, uint64_t insns, uint64_t ns)
{
	const struct kept *k = stack->data;

	if (stack->depth < 2)
		return;
	k->list[stack->depth - 2].insns += insns;
	k->list[stack->depth - 2].ns += ns;
}

void callees_leave(struct stack *stack, const struct frame *frame)
{
	add(stack, stack->insns - frame->insns, stack->ns - frame->ns);
}

void callees_phrase(struct stack *stack, const struct spent *spent)
{
	add(stack, spent->insns, spent->ns);
}

void callees_forget(struct stack *stack, size_t n)
{
	struct kept *k = stack->data;

	memmove(k->list, k->list + n, (stack->depth - n) * sizeof *k->list);
}

void callees_free(struct stacks *s)
{
	for (size_t i = 0; i < s->count; i++) {
		struct kept *k = s->list[i].data;

		if (k)
			free(k->list);
		free(k);
		s->list[i].data = NULL;
	}
}

void callees_save(const struct stacks *s, struct buf *out)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct stack *stack = &s->list[i];
		const struct kept *k = stack->data;

		if (!stack->depth)
			continue;
		buf_put_varint(out, i + 1);
		buf_put_varint(out, stack->depth);
		for (size_t depth = 0; depth < stack->depth; depth++) {
			buf_put_varint(out, k->list[depth].insns);
			buf_put_varint(out, k->list[depth].ns);
		}
	}
	buf_put_varint(out, 0);
}

bool callees_find(struct cursor saved, size_t stack, size_t depth, struct callees *ret)
{
	uint64_t number;

	while ((number = cursor_varint(&saved))) {
		uint64_t n = cursor_varint(&saved);

		for (uint64_t i = 0; i < n && !saved.bad; i++) {
			*ret = (struct callees){ .insns = cursor_varint(&saved) };
			ret->ns = cursor_varint(&saved);
			if (number == stack + 1 && i == depth)
				return !saved.bad;
		}
	}
	return false;
}
