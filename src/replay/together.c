/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "together.h"

/* Calls a function of all visitors that have it. */
#define TELL(state, function, ...)                                                       \
	do {                                                                             \
		struct together *all = (state);                                          \
		for (size_t i = 0; i < all->n; i++)                                      \
			if (all->visitors[i]->function)                                  \
				all->visitors[i]->function(all->states[i], __VA_ARGS__); \
	} while (0)

static void enter(void *state, struct stacks *s, struct stack *stack, struct frame *frame)
{
	TELL(state, enter, s, stack, frame);
}

static void leave(void *state, struct stacks *s, struct stack *stack, const struct frame *frame)
{
	TELL(state, leave, s, stack, frame);
}

static void spend(void *state, struct stacks *s, struct stack *stack, const struct spent *spent)
{
	TELL(state, spend, s, stack, spent);
}

static void forget(void *state, struct stacks *s, struct stack *stack, size_t n)
{
	TELL(state, forget, s, stack, n);
}

static void move(void *state, struct stacks *s, const struct stack *from, const struct stack *to)
{
	TELL(state, move, s, from, to);
}

static void halt(void *state, struct stacks *s, struct stack *stack, bool goes_on)
{
	TELL(state, halt, s, stack, goes_on);
}

static void gap(void *state, struct stacks *s, const struct stack *stack, uint64_t from_ns)
{
	TELL(state, gap, s, stack, from_ns);
}

static void found(void *state, struct stacks *s, const struct stack *stack, uint64_t since_ns)
{
	TELL(state, found, s, stack, since_ns);
}

static void switched(void *state, struct stacks *s, const struct stack *from, const struct stack *to, unsigned cpu)
{
	TELL(state, switched, s, from, to, cpu);
}

static void run(void *state, struct stacks *s, const struct stacks_run *of)
{
	TELL(state, run, s, of);
}

static void phrase(void *state, struct stacks *s, struct stack *stack, const struct stacks_phrase *p)
{
	TELL(state, phrase, s, stack, p);
}

static void due(void *state, struct stacks *s)
{
	uint64_t now = s->due_ns, next = UINT64_MAX;
	struct together *all = state;

	for (size_t i = 0; i < all->n; i++) {
		if (all->visitors[i]->due && all->due_ns[i] <= now) {
			s->due_ns = all->due_ns[i];
			all->visitors[i]->due(all->states[i], s);
			all->due_ns[i] = s->due_ns;
		}
		next = all->due_ns[i] < next ? all->due_ns[i] : next;
	}
	s->due_ns = next;
}

struct stacks_visitor together_visitor(const struct stacks_visitor *const *visitors, size_t n)
{
	struct stacks_visitor v = { .phrase = phrase };

	for (size_t i = 0; i < n; i++) {
		const struct stacks_visitor *one = visitors[i];

		v.enter = one->enter ? enter : v.enter;
		v.leave = one->leave ? leave : v.leave;
		v.spend = one->spend ? spend : v.spend;
		v.forget = one->forget ? forget : v.forget;
		v.move = one->move ? move : v.move;
		v.halt = one->halt ? halt : v.halt;
		v.gap = one->gap ? gap : v.gap;
		v.found = one->found ? found : v.found;
		v.switched = one->switched ? switched : v.switched;
		v.run = one->run ? run : v.run;
		v.due = one->due ? due : v.due;
		v.phrase = one->phrase ? v.phrase : NULL;
	}
	return v;
}

void together_init(struct together *t, const struct stacks_visitor *const *visitors, void *const *states, size_t n)
{
	*t = (struct together){ .n = n };
	for (size_t i = 0; i < n; i++) {
		t->visitors[i] = visitors[i];
		t->states[i] = states[i];
		t->due_ns[i] = visitors[i]->due ? 0 : UINT64_MAX;
	}
}
