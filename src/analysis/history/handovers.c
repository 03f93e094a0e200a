/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who set the timers that wake threads up, and who queued the work that workers do: neither timers nor workers know. */
#include "making.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static const struct timer_set NO_TIMER = { .function = HISTORY_NONE, .in = HISTORY_NONE, .by = HISTORY_NONE };

static uint32_t caller_of(const struct stack *stack)
{
	return stack->depth > 1 ? stack->frames[stack->depth - 2].function : HISTORY_NONE;
}

/* The thread that does it; HISTORY_NONE: an interrupt that came in the thread. */
static uint32_t by_whom(const struct stacks *s, const struct stack *stack, enum wake_context context)
{
	return context == WAKE_TASK ? stacks_number(s, stack) : HISTORY_NONE;
}

void handovers_set(struct making *m, const struct stacks *s, const struct stack *stack, enum wake_context context)
{
	const struct fact *f = facts_find(&m->history->facts, FACT_TIMER, (uint32_t)stack->cpu, s->insns);
	struct handovers *h = &m->handovers;
	uint64_t *only;

	if (!f)
		return;
	h->timers = array_grow(h->timers, h->n_timers, &h->timers_cap, sizeof *h->timers);
	h->timers[h->n_timers++] = (struct timer_set){
		.function = names_place(s->names, f->numbers[1], s->ns, 0).function, .in = caller_of(stack),
		.by = by_whom(s, stack, context), .ns = s->ns,
	};
	/* of work, its address is known when it is queued; of a timer, its function when that runs */
	*map_put(&h->timer_of, f->numbers[0], 0) = h->n_timers;
	/* where several timers have it, nothing tells which of them runs */
	only = map_put(&h->only_timer, f->numbers[1], f->numbers[0]);
	if (*only != f->numbers[0])
		*only = 0;
	*map_put(&h->timer_of, f->numbers[1], 0) = *only ? h->n_timers : 0;
}

static const struct timer_set *timer_of(const struct handovers *h, uint64_t key)
{
	const uint64_t *place = map_get(&h->timer_of, key);

	return place && *place ? &h->timers[*place - 1] : &NO_TIMER;
}

/* The frame of the timer's function: that which those who run timers called. NULL: none. */
static const struct frame *function_of(const struct making *m, const struct stack *stack)
{
	for (size_t i = stack->depth; i-- > 1;) {
		uint32_t below = stack->frames[i - 1].function;

		if (m->kinds.hands_on[below] && m->kinds.contexts[below] == WAKE_TIMER)
			return &stack->frames[i];
	}
	return NULL;
}

static bool is_delayed_work(const struct stacks *s, const struct frame *timer)
{
	return timer && !strcmp(names_function(s->names, timer->function), "delayed_work_timer_fn");
}

void handovers_queue(struct making *m, const struct stacks *s, const struct stack *stack, enum wake_context context)
{
	const struct fact *f = facts_find(&m->history->facts, FACT_QUEUE, (uint32_t)stack->cpu, s->insns);
	struct handovers *h = &m->handovers;

	if (!f)
		return;
	h->queued = array_grow(h->queued, h->n_queued, &h->queued_cap, sizeof *h->queued);
	h->queued[h->n_queued++] = (struct work_queued){
		.ns = s->ns,
		.by = by_whom(s, stack, context),
		.in = caller_of(stack),
		.timer = context == WAKE_TIMER && is_delayed_work(s, function_of(m, stack))
				 ? *timer_of(h, f->numbers[0])
				 : NO_TIMER,
	};
	*map_put(&h->queued_of, f->numbers[0], 0) = h->n_queued;
}

void handovers_tell(const struct making *m, const struct stacks *s, const struct stack *stack, struct away *ret)
{
	const struct frame *function = function_of(m, stack);

	/* who sleeps for a time has set the timer itself; of delayed work, the work tells */
	if (!function || m->kinds.contexts[function->function])
		return;
	ret->waker_function = function->function;
	ret->timer = *timer_of(&m->handovers, function->addr);
	ret->timer.function = function->function;
	if (ret->timer.by == ret->thread)
		ret->timer.by = HISTORY_NONE;
	(void)s;
}

uint32_t handovers_begin(struct making *m, uint64_t work)
{
	uint64_t *place = map_get(&m->handovers.queued_of, work);
	struct history *h = m->history;

	if (!place || !*place)
		return HISTORY_NONE;
	h->queued = array_grow(h->queued, h->n_queued, &m->queued_cap, sizeof *h->queued);
	h->queued[h->n_queued++] = m->handovers.queued[*place - 1];
	*place = 0; /* before it is begun again, it is queued again */
	return (uint32_t)h->n_queued - 1;
}

void handovers_rename(struct making *m, uint32_t before, uint32_t now)
{
	struct handovers *h = &m->handovers;

	for (size_t i = 0; i < h->n_timers; i++)
		making_rename(&h->timers[i].by, before, now);
	for (size_t i = 0; i < h->n_queued; i++) {
		making_rename(&h->queued[i].by, before, now);
		making_rename(&h->queued[i].timer.by, before, now);
	}
	for (size_t i = 0; i < m->history->n_queued; i++) {
		making_rename(&m->history->queued[i].by, before, now);
		making_rename(&m->history->queued[i].timer.by, before, now);
	}
}

void handovers_deinit(struct handovers *h)
{
	free(h->timers);
	free(h->queued);
	map_free(&h->timer_of);
	map_free(&h->only_timer);
	map_free(&h->queued_of);
}
