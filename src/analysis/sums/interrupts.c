/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "interrupts.h"

#include <stdlib.h>

#include "base/alloc.h"

enum { VECTORS = 256, NO_FUNCTION = UINT32_MAX };

/* In a frame's data, for the number of what is under way: it is not counted, whatever takes its place. */
enum { NOT_COUNTED = UINT32_MAX };

/* One that is under way. */
struct open {
	uint32_t vector;
	uint64_t insns, ns; /* so far */
	size_t next_free;   /* of those that are not in use: number of another one; 0: none */
};

/*
 * The function that came for more than half of them; if none did, one that came often (the vote of Boyer and Moore).
 * The first ones may be another's: faults before the kernel's own table of handlers, a driver that tries whether its
 * interrupt comes at all.
 */
struct vote {
	uint32_t function;
	uint64_t lead;
};

static void vote(struct vote *v, uint32_t function)
{
	if (!v->lead)
		v->function = function;
	if (v->function == function)
		v->lead++;
	else
		v->lead--;
}

struct interrupts_run {
	const struct span *span;
	uint32_t calls_actions; /* __handle_irq_event_percpu() calls what drivers asked for: kernel/irq/handle.c */
	struct interrupt_sum sums[VECTORS];
	struct vote entries[VECTORS], actions[VECTORS];
	struct open *open;      /* by number; 0 stands for none */
	size_t n_open, open_cap, free;
	size_t left;            /* one whose frame was left: it is over, unless the frame is entered again at once */
};

static bool is_asked(const struct interrupts_run *run, const struct stacks *s, const struct stack *stack,
		     const struct frame *f)
{
	const struct span *span = run->span;

	return f->role < VECTORS && threads_is_chosen(s->threads, stack->thread) && f->entry_ns >= span->from_ns &&
	       f->entry_ns < span->to_ns && (span->cpu < 0 || span->cpu == stack->cpu) &&
	       !names_before_kernel(s->names, f->entry_ns);
}

static size_t new_open(struct interrupts_run *run, uint32_t vector)
{
	size_t number = run->free;

	if (number) {
		run->free = run->open[number].next_free;
	} else {
		run->open = array_grow(run->open, run->n_open, &run->open_cap, sizeof *run->open);
		number = run->n_open++;
	}
	run->open[number] = (struct open){ .vector = vector };
	return number;
}

/* The one that was left is over. */
static void finish(struct interrupts_run *run)
{
	struct open *o = &run->open[run->left];
	struct interrupt_sum *sum = &run->sums[o->vector];

	sum->finished++;
	sum->insns += o->insns;
	sum->ns += o->ns;
	if (o->ns > sum->longest_ns)
		sum->longest_ns = o->ns;
	o->next_free = run->free;
	run->free = run->left;
	run->left = 0;
}

static bool is_counted(const struct frame *f)
{
	return f->data && f->data != NOT_COUNTED;
}

/* The interrupt that a frame is part of; NULL: none that counts. */
static const struct frame *interrupt_of(const struct stack *stack)
{
	for (size_t i = stack->depth; i-- > 0;)
		if (stack->frames[i].kind == FRAME_INTERRUPT)
			return is_counted(&stack->frames[i]) ? &stack->frames[i] : NULL;
	return NULL;
}

/* A jump replaces the function of an interrupt's frame: it is left and entered again, with the same data. */
static void enter(void *state, struct stacks *s, struct stack *stack, struct frame *frame)
{
	struct interrupts_run *run = state;

	if (run->left && !(frame->kind == FRAME_INTERRUPT && frame->data == run->left))
		finish(run);
	run->left = 0;
	if (frame->kind == FRAME_INTERRUPT) {
		if (frame->data)
			return;
		frame->data = NOT_COUNTED;
		if (!is_asked(run, s, stack, frame))
			return;
		run->sums[frame->role].count++;
		vote(&run->entries[frame->role], frame->function);
		frame->data = (uint32_t)new_open(run, frame->role);
	} else if (stack->depth > 1 && frame[-1].function == run->calls_actions && frame->kind == FRAME_CALL) {
		const struct frame *interrupt = interrupt_of(stack);

		if (interrupt)
			vote(&run->actions[interrupt->role], frame->function);
	}
}

static void leave(void *state, struct stacks *s, struct stack *stack, const struct frame *frame)
{
	struct interrupts_run *run = state;

	if (run->left)
		finish(run);
	if (frame->kind != FRAME_INTERRUPT || !is_counted(frame))
		return;
	if (s->end == FRAME_LOST || s->end == FRAME_DIED) { /* it never returned */
		run->open[frame->data].next_free = run->free;
		run->free = frame->data;
		run->left = 0;
		return;
	}
	run->open[frame->data].insns += stack->insns - frame->insns;
	run->open[frame->data].ns += stack->ns - frame->ns;
	run->left = frame->data;
}

static void collect(struct interrupts_run *run, struct interrupts *ret)
{
	ret->list = xcalloc(VECTORS, sizeof *ret->list);
	for (unsigned i = 0; i < VECTORS; i++) {
		if (!run->sums[i].count)
			continue;
		run->sums[i].entry = run->entries[i].function;
		run->sums[i].action = run->actions[i].function;
		ret->list[ret->count++] = run->sums[i];
	}
}

int interrupts_analyse(const struct session *session, const struct span *span,
		       struct interrupts *ret, struct error *err)
{
	static const struct stacks_visitor visitor = { .enter = enter, .leave = leave };
	struct interrupts_run *run = xcalloc(1, sizeof *run);
	struct stacks stacks;
	int result;

	run->span = span;
	run->calls_actions = names_find(session->names, "__handle_irq_event_percpu");
	run->n_open = 1;
	for (unsigned i = 0; i < VECTORS; i++) {
		run->sums[i] = (struct interrupt_sum){ .vector = i };
		run->actions[i].function = NO_FUNCTION;
	}
	*ret = (struct interrupts){ 0 };
	result = stacks_replay(&stacks, session, NULL, span->to_ns, &visitor, run, err);
	if (run->left)
		finish(run);
	collect(run, ret);
	stacks_deinit(&stacks);
	free(run->open);
	free(run);
	return result;
}

void interrupts_deinit(struct interrupts *i)
{
	free(i->list);
	*i = (struct interrupts){ 0 };
}
