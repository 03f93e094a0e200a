/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which thread each vCPU runs from when to when, where most of that time goes, and which interrupts take long in it. */
#include "making.h"

#include <stdlib.h>

#include "base/alloc.h"

enum { LONG_NS = 1000000 }; /* interrupts that take so long are slices of their own */

static void add_spent(struct open_slice *o, uint32_t function, uint64_t ns)
{
	if (!o->spent[function])
		o->touched[o->n_touched++] = function;
	if (__builtin_add_overflow(o->spent[function], ns, &o->spent[function]))
		o->spent[function] = UINT64_MAX;
}

/* Choose the functions in which most of the slice's time went. */
static void choose_hot(struct open_slice *o)
{
	struct slice *slice = &o->slice;

	for (size_t i = 0; i < o->n_touched; i++) {
		uint32_t f = o->touched[i];
		uint64_t ns = o->spent[f];
		int at = HISTORY_HOT;

		o->spent[f] = 0;
		while (at > 0 && ns > slice->hot[at - 1].ns) {
			if (at < HISTORY_HOT)
				slice->hot[at] = slice->hot[at - 1];
			at--;
		}
		if (at < HISTORY_HOT) {
			slice->hot[at].function = f;
			slice->hot[at].ns = ns;
		}
	}
	o->n_touched = 0;
}

static void keep(struct making *m, struct open_slice *o, uint64_t end_ns)
{
	struct history *h = m->history;

	if (o->slice.thread != HISTORY_NONE && (end_ns > o->slice.start_ns || o->slice.insns)) {
		/* what a slice begins with may be known some microseconds later than by the vCPU's count */
		if (o->slice.start_ns > end_ns)
			o->slice.start_ns = end_ns;
		o->slice.end_ns = end_ns;
		choose_hot(o);
		h->slices = array_grow(h->slices, h->n_slices, &m->slices_cap, sizeof *h->slices);
		h->slices[h->n_slices++] = o->slice;
	}
}

/* The interrupt was short: what it ran is the slice's that it came in. */
static void merge(struct running *r)
{
	struct open_slice *from = &r->interrupt;

	for (size_t i = 0; i < from->n_touched; i++) {
		add_spent(&r->plain, from->touched[i], from->spent[from->touched[i]]);
		from->spent[from->touched[i]] = 0;
	}
	from->n_touched = 0;
	r->plain.slice.insns += from->slice.insns;
	r->plain.slice.halted_ns += from->slice.halted_ns;
}

/* The interrupt that the vCPU is in, if it is in one, is over. */
static void end_interrupt(struct making *m, struct running *r, uint64_t ns)
{
	struct slice *interrupt = &r->interrupt.slice, *plain = &r->plain.slice;

	if (!r->depth)
		return;
	r->depth = 0;
	if (ns < interrupt->start_ns + LONG_NS || interrupt->handler == HISTORY_NONE) {
		merge(r);
		return;
	}
	keep(m, &r->plain, interrupt->start_ns);
	keep(m, &r->interrupt, ns);
	*plain = (struct slice){
		.thread = plain->thread, .cpu = plain->cpu, .span = plain->span, .away = HISTORY_NONE,
		.handler = HISTORY_NONE, .start_ns = ns,
	};
}

void slices_cut(struct making *m, const struct stacks *s, unsigned cpu, uint32_t thread, uint32_t span, uint32_t away)
{
	struct running *r = &m->running[cpu];

	end_interrupt(m, r, s->ns);
	keep(m, &r->plain, s->ns);
	r->plain.slice = (struct slice){
		.thread = thread, .cpu = cpu, .span = span, .away = away, .handler = HISTORY_NONE, .start_ns = s->ns,
	};
}

void slices_gap(struct making *m, const struct stacks *s, unsigned cpu, uint32_t thread, uint64_t from_ns)
{
	struct running *r = &m->running[cpu];

	end_interrupt(m, r, from_ns);
	keep(m, &r->plain, from_ns);
	r->plain.slice = (struct slice){
		.thread = thread, .cpu = cpu, .span = HISTORY_NONE, .away = HISTORY_NONE, .handler = HISTORY_NONE,
		.start_ns = s->ns,
	};
}

static void spend(struct running *r, const struct stack *stack, const struct spent *spent)
{
	struct open_slice *o = r->depth ? &r->interrupt : &r->plain;

	o->slice.insns += spent->insns;
	o->slice.halted_ns += spent->halted_ns;
	/* only in a damaged trace does time go back */
	if (stack->depth && spent->ns && spent->ns <= INT64_MAX)
		add_spent(o, stack->frames[stack->depth - 1].function, spent->ns);
}

static void go_to_change(struct running *r, size_t number)
{
	r->next_change = number;
	r->change_insns = number < r->n_changes ? r->changes[number].insns : UINT64_MAX;
}

/* The slice ends with the part of what is spent that comes before the change. */
static void cut_at_change(struct making *m, struct running *r, const struct stacks *s, const struct stack *stack,
			  const struct change *change, struct spent *rest)
{
	struct slice *slice = &r->plain.slice;
	uint64_t before_ns = s->ns - rest->ns - rest->halted_ns, ns = change->ns - before_ns;
	struct spent before = { .insns = rest->insns - (s->insns - change->insns) };

	if (ns && change->ns > before_ns)
		before.ns = ns < rest->ns ? ns : rest->ns;
	rest->insns -= before.insns;
	rest->ns -= before.ns;
	spend(r, stack, &before);
	ns = change->ns > slice->start_ns ? change->ns : slice->start_ns;
	keep(m, &r->plain, ns);
	*slice = (struct slice){
		.thread = slice->thread, .cpu = slice->cpu, .span = slice->span, .away = HISTORY_NONE,
		.handler = HISTORY_NONE, .start_ns = ns,
	};
}

void slices_spend(struct making *m, const struct stacks *s, const struct stack *stack, const struct spent *spent)
{
	struct running *r = &m->running[stack->cpu < 0 ? 0 : stack->cpu];
	struct spent rest = *spent;

	while (__builtin_expect(s->insns >= r->change_insns, 0)) {
		const struct change *change = &r->changes[r->next_change];

		/* what came in a gap, or is not of the thread that is known to run, cuts nothing */
		if (s->insns - change->insns <= rest.insns && !r->depth && r->plain.slice.thread == change->thread)
			cut_at_change(m, r, s, stack, change, &rest);
		go_to_change(r, r->next_change + 1);
	}
	spend(r, stack, &rest);
}

void slices_enter(struct making *m, const struct stacks *s, const struct stack *stack, const struct frame *frame)
{
	struct running *r;

	if (__builtin_expect(frame->kind != FRAME_INTERRUPT || frame->role < m->reader->arch->first_interrupt ||
				     stack->cpu < 0,
			     1))
		return;
	r = &m->running[stack->cpu];
	/* a jump replaces the function of an interrupt's frame: it is left and entered again */
	if (r->depth || stack->thread == THREAD_NONE)
		return;
	r->depth = stack->depth;
	r->handler_ns = 0;
	r->interrupt.slice = r->plain.slice;
	r->interrupt.slice.start_ns = s->ns;
	r->interrupt.slice.insns = r->interrupt.slice.halted_ns = 0;
	r->interrupt.slice.away = r->interrupt.slice.handler = HISTORY_NONE;
}

void slices_leave(struct making *m, const struct stacks *s, const struct stack *stack, const struct frame *frame)
{
	struct running *r = stack->cpu < 0 ? NULL : &m->running[stack->cpu];
	uint64_t ns;

	if (__builtin_expect(!r || !r->depth, 1))
		return;
	if (stack->depth == r->depth) {
		end_interrupt(m, r, s->ns);
	} else if (stack->depth > r->depth && m->kinds.hands_on[frame[-1].function]) {
		ns = s->ns - frame->entry_ns;
		/* what is called by what was handed on to is left first, and tells more */
		if (ns / 2 > r->handler_ns) {
			r->handler_ns = ns;
			r->interrupt.slice.handler = frame->function;
		}
	}
}

void slices_rename(struct running *r, uint32_t before, uint32_t now)
{
	making_rename(&r->plain.slice.thread, before, now);
	making_rename(&r->interrupt.slice.thread, before, now);
}

static struct open_slice open_slice(uint32_t thread, unsigned cpu, size_t functions)
{
	return (struct open_slice){
		.slice = { .thread = thread,
			   .cpu = cpu,
			   .span = HISTORY_NONE,
			   .away = HISTORY_NONE,
			   .handler = HISTORY_NONE },
		.spent = xcalloc(functions, sizeof(uint64_t)),
		.touched = xcalloc(functions, sizeof(uint32_t)),
	};
}

static bool is_change(const struct task_record *r)
{
	return r->change == TASK_NAME || r->change == TASK_EXEC || r->change == TASK_EXIT;
}

/* Records are in the order of each vCPU's count, but in a damaged trace. */
static void find_changes(struct running *running, unsigned n_cpus, const struct threads *threads)
{
	size_t *caps = xcalloc(n_cpus, sizeof *caps);

	for (size_t i = 0; i < threads->n_records; i++) {
		const struct task_record *record = &threads->records[i];
		struct running *r = record->cpu < n_cpus ? &running[record->cpu] : NULL;

		if (!r || !is_change(record) ||
		    (r->n_changes && r->changes[r->n_changes - 1].insns > record->insns))
			continue;
		r->changes = array_grow(r->changes, r->n_changes, &caps[record->cpu], sizeof *r->changes);
		r->changes[r->n_changes++] = (struct change){
			.ns = record->ns, .insns = record->insns, .thread = threads->thread_of_record[i],
		};
	}
	free(caps);
	for (unsigned i = 0; i < n_cpus; i++)
		go_to_change(&running[i], 0);
}

void slices_begin(struct making *m, const struct threads *threads, size_t functions)
{
	m->running = xcalloc(m->n_cpus, sizeof *m->running);
	for (unsigned i = 0; i < m->n_cpus; i++) {
		uint32_t boot = (uint32_t)(m->history->n_threads - m->n_cpus + i);

		m->running[i] = (struct running){
			.plain = open_slice(boot, i, functions), .interrupt = open_slice(boot, i, functions),
		};
	}
	find_changes(m->running, m->n_cpus, threads);
}

void slices_end(struct making *m)
{
	for (unsigned i = 0; i < m->n_cpus; i++) {
		free(m->running[i].plain.spent);
		free(m->running[i].plain.touched);
		free(m->running[i].interrupt.spent);
		free(m->running[i].interrupt.touched);
		free(m->running[i].changes);
	}
	free(m->running);
}
