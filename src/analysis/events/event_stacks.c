/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/calls/moments.h"
#include "base/alloc.h"
#include "base/buf.h"

struct collecting {
	struct event_stacks *to;
	const struct names *names;
	const struct fact *const *list;
	struct buf text;
};

static uint32_t number_of(struct name_table *t, const char *text)
{
	return name_table_put(t, text, strlen(text));
}

/* A group of code without names counts as one function, which does not call itself. */
static bool repeats(const struct names *names, const struct stack *stack, size_t i)
{
	uint32_t function = stack->frames[i].function;

	return i + 1 < stack->depth && stack->frames[i + 1].function == function && names_is_group(names, function);
}

static void put_stack(const struct names *names, const struct stack *stack, struct buf *out)
{
	for (size_t i = stack->depth; i-- > 0;)
		if (!repeats(names, stack, i))
			buf_printf(out, "%s%s", out->len ? " < " : "",
				   names_function(names, stack->frames[i].function));
	buf_put_u8(out, 0);
}

/* "": nobody called it. */
static const char *caller_of(const struct names *names, const struct stack *stack)
{
	for (size_t i = stack->depth - 1; i-- > 0;)
		if (!repeats(names, stack, i))
			return names_function(names, stack->frames[i].function);
	return "";
}

static void take(void *state, size_t i, struct stacks *s)
{
	struct collecting *c = state;
	const struct fact *f = c->list[i];
	const struct stack *stack = stacks_running(s, f->task, f->cpu, f->ns);
	const char *caller;
	uint32_t number;

	if (!stack || !stack->depth)
		return;
	c->text.len = 0;
	put_stack(c->names, stack, &c->text);
	caller = caller_of(c->names, stack);
	number = number_of(&c->to->texts, (char *)c->text.data);
	c->to->caller = array_reach(c->to->caller, number, &c->to->cap, sizeof *c->to->caller);
	c->to->caller[number] = number_of(&c->to->callers, caller);
	*map_put(&c->to->of, (uintptr_t)f, 0) = number + 1;
}

int event_stacks_init(struct event_stacks *ret, const struct session *session, const struct fact *const *list, size_t n,
		      struct error *err)
{
	struct collecting c = { .to = ret, .names = session->names, .list = list };
	uint64_t *moments = xcalloc(n + 1, sizeof *moments);
	int r;

	*ret = (struct event_stacks){ 0 };
	for (size_t i = 0; i < n; i++)
		moments[i] = event_stack_moment(list[i]);
	r = moments_analyse(session, moments, n, take, &c, err);
	free(moments);
	buf_free(&c.text);
	return r;
}

void event_stacks_deinit(struct event_stacks *s)
{
	map_free(&s->of);
	name_table_deinit(&s->texts);
	name_table_deinit(&s->callers);
	free(s->caller);
	*s = (struct event_stacks){ 0 };
}

const char *event_stack(const struct event_stacks *s, const struct fact *fact)
{
	const uint64_t *number = map_get(&s->of, (uintptr_t)fact);

	return number ? name_table_text(&s->texts, (uint32_t)*number - 1) : NULL;
}

const char *event_caller(const struct event_stacks *s, const struct fact *fact)
{
	const uint64_t *number = map_get(&s->of, (uintptr_t)fact);
	const char *name = number ? name_table_text(&s->callers, s->caller[*number - 1]) : "";

	return *name ? name : NULL;
}
