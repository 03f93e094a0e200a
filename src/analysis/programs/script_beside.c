/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When probes fire that are at what is beside a trace's events: records of trace events, spans, waits, times. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "script_needs.h"
#include "script_runner.h"

/* Only those handlers whose pattern fits. */
static void fire_kind(struct script_runner *r, struct stacks *s, enum script_other other, const char *kind)
{
	const struct script_index *x = &r->places.others;

	for (uint32_t i = x->first[other]; i < x->first[other + 1] && !r->over; i++) {
		const char *pattern = r->o->script->handlers[x->list[i].handler].places[x->list[i].place].name;

		if ((pattern && fnmatch(pattern, kind, 0)) || r->now.ns < r->o->from_ns || r->now.ns >= r->o->to_ns)
			continue;
		r->now.at = x->list[i];
		r->over = !machine_fire(r->machine, x->list[i].handler);
	}
	if (r->over && s)
		s->stop = true;
}

/* Is a line of the log told once more, with what was added to it? The last time counts. */
static bool is_continued(const struct script_runner *r, const struct fact *line)
{
	const struct facts *all = r->o->facts;

	for (size_t i = (size_t)(line - all->list) + 1; i < all->count; i++)
		if (all->list[i].kind == FACT_LOG)
			return all->list[i].numbers[0] == line->numbers[0];
	return false;
}

static uint32_t syscall_number(const struct syscall_mark *m)
{
	return m->call.nr < SCRIPT_OTHER_SYSCALL ? (uint32_t)m->call.nr : SCRIPT_OTHER_SYSCALL;
}

static const struct script_index *syscall_places(const struct script_runner *r, const struct syscall_mark *m)
{
	return m->type == SYSCALL_MARK_ENTRY ? &r->places.calls : &r->places.results;
}

/* Does a record tell of a system call that something fires at? */
static bool tells_of_syscall(const struct script_runner *r, const struct fact *f)
{
	struct syscall_mark mark;

	return r->o->told && syscall_events_tell(r->o->told, f, &mark) &&
	       script_index_has(syscall_places(r, &mark), syscall_number(&mark));
}

static bool is_heard(const struct script_runner *r, const struct fact *f)
{
	struct event_record record;

	if (r->state.there && f->ns < r->state.ns) /* it was told */
		return false;
	if (f->kind == FACT_LOG)
		return script_index_has(&r->places.others, OTHER_LOG);
	if (tells_of_syscall(r, f))
		return true;
	return f->kind == FACT_EVENT && event_record_of(r->o->formats, f, &record) &&
	       script_index_has(&r->places.events, record.event);
}

/* A line of the log, unless it is told once more. */
static void tell_line(struct script_runner *r, struct stacks *s, const struct fact *f)
{
	if (is_continued(r, f))
		return;
	r->now = (struct moment){ .ns = f->ns, .insns = f->insns, .cpu = f->cpu, .line = f };
	r->now.stack = s ? stacks_running(s, f->task, f->cpu, f->ns) : NULL;
	fire_kind(r, s, OTHER_LOG, fact_text(f, 0));
}

static void tell_syscall(struct script_runner *r, struct stacks *s, const struct fact *f)
{
	struct syscall_mark mark;

	if (!r->o->told || !syscall_events_tell(r->o->told, f, &mark))
		return;
	r->now = (struct moment){
		.ns = f->ns,
		.insns = f->insns,
		.cpu = f->cpu,
		.id = (uint32_t)mark.call.nr,
		.exits = mark.type == SYSCALL_MARK_EXIT,
		.result = (uint64_t)mark.call.result,
	};
	r->now.args = r->now.exits ? NULL : mark.call.args;
	r->now.stack = s ? stacks_running(s, f->task, f->cpu, f->ns) : NULL;
	script_fire(r, s, syscall_places(r, &mark), syscall_number(&mark));
	r->now.args = NULL;
}

/*
 * The function that returned, as the record has it: where it ended with a jump, the stack has the one that it jumped
 * to. False: the record does not tell.
 */
static bool find_returned(struct script_runner *r, const struct event_record *record)
{
	long field = r->probed[record->event];
	struct event_value v;

	if (field < 0)
		return false;
	v = event_value(r->o->decoder, record, (size_t)field, &r->text);
	r->now.function = script_function_at(r, v.number, (int64_t)v.number >= 0);
	return !names_is_group(r->o->session->names, r->now.function);
}

/* The function that a probe is at, for `func` and `probe`. */
static void find_function(struct script_runner *r, const struct event_record *record)
{
	const struct stack *stack = r->now.stack;

	r->now.has_function = find_returned(r, record);
	if (!r->now.has_function && stack && stack->depth) {
		r->now.function = stack->frames[stack->depth - 1].function;
		r->now.has_function = true;
	}
	if (r->now.has_function)
		r->now.id = r->now.function;
}

static void tell_event(struct script_runner *r, struct stacks *s, const struct fact *f)
{
	struct event_record record;

	tell_syscall(r, s, f);
	if (!event_record_of(r->o->formats, f, &record))
		return;
	r->now = (struct moment){
		.ns = f->ns, .insns = f->insns, .cpu = f->cpu, .record = &record, .id = (uint32_t)record.event
	};
	r->now.stack = s ? stacks_running(s, f->task, f->cpu, f->ns) : NULL;
	if (event_is_of_program(&r->o->formats->list[record.event]))
		find_function(r, &record);
	script_fire(r, s, &r->places.events, record.event);
}

static void tell_fact(struct script_runner *r, struct stacks *s, const struct fact *f)
{
	if (f->kind == FACT_LOG)
		tell_line(r, s, f);
	else
		tell_event(r, s, f);
}

static bool is_asked(const struct script_runner *r, enum script_other other, const char *kind)
{
	const struct script_index *x = &r->places.others;

	for (uint32_t i = x->first[other]; i < x->first[other + 1]; i++) {
		const char *pattern = r->o->script->handlers[x->list[i].handler].places[x->list[i].place].name;

		if (!pattern || !fnmatch(pattern, kind, 0))
			return true;
	}
	return false;
}

/* Whose it is, and the vCPU that runs it. */
static void set_stack(struct script_runner *r, const struct stack *stack)
{
	r->now.stack = stack;
	r->now.cpu = stack->cpu < 0 ? 0 : (unsigned)stack->cpu;
}

static void tell_span(struct script_runner *r, struct stacks *s, const struct span_of *span)
{
	r->now = (struct moment){
		.ns = span->end_ns,
		.span = span,
		.ends = true,
		.duration_ns = span->end_ns - span->start_ns,
		.duration_insns = span->insns,
		.self_ns = span->cpu_ns,
	};
	if (s && span->thread < s->count)
		set_stack(r, &s->list[span->thread]);
	fire_kind(r, s, OTHER_SPAN, span_kind_name(span->kind));
}

static void tell_away(struct script_runner *r, struct stacks *s, const struct away *a)
{
	r->now = (struct moment){
		.ns = a->end_ns,
		.away = a,
		.ends = true,
		.duration_ns = a->end_ns - a->start_ns,
	};
	if (s && a->thread < s->count)
		set_stack(r, &s->list[a->thread]);
	fire_kind(r, s, OTHER_WAIT, wait_kind_name(a->kind));
}

/* A timer's next moment. What each vCPU does then. */
static void tell_timer(struct script_runner *r, struct stacks *s, struct script_timer *t)
{
	for (unsigned cpu = 0; cpu < (t->each_cpu ? r->vcpus : 1) && !r->over; cpu++) {
		const struct stack *running = t->each_cpu ? r->running[cpu] : NULL;

		if (t->each_cpu && !running)
			continue;
		r->now = (struct moment){ .ns = t->next_ns, .stack = running, .cpu = cpu, .at = t->at };
		if (t->next_ns >= r->o->from_ns && t->next_ns < r->o->to_ns)
			r->over = !machine_fire(r->machine, t->at.handler);
	}
	/* there may be very many of them between two events */
	if (r->o->is_enough && r->o->is_enough(r->o->enough_context))
		r->over = true;
	if (r->over && s)
		s->stop = true;
	if (__builtin_add_overflow(t->next_ns, t->ns, &t->next_ns))
		t->next_ns = UINT64_MAX;
}

/* The kinds of what is beside the events, and when the next of each is. */
enum beside { BESIDE_FACT, BESIDE_SPAN, BESIDE_AWAY, BESIDE_TIMER };

static uint64_t next_beside(struct script_runner *r, enum beside *ret, size_t *ret_timer)
{
	uint64_t first = UINT64_MAX, ns;

	while (r->o->facts && r->next_fact < r->o->facts->count && !is_heard(r, &r->o->facts->list[r->next_fact]))
		r->next_fact++;
	if (r->o->facts && r->next_fact < r->o->facts->count) {
		first = r->o->facts->list[r->next_fact].ns;
		*ret = BESIDE_FACT;
	}
	if (r->next_span < r->n_spans && (ns = r->o->history->spans[r->spans[r->next_span]].end_ns) < first) {
		first = ns;
		*ret = BESIDE_SPAN;
	}
	if (r->next_away < r->n_aways && (ns = r->o->history->aways[r->aways[r->next_away]].end_ns) < first) {
		first = ns;
		*ret = BESIDE_AWAY;
	}
	for (size_t i = 0; i < r->places.n_timers; i++)
		if (r->places.timers[i].next_ns < first) {
			first = r->places.timers[i].next_ns;
			*ret = BESIDE_TIMER;
			*ret_timer = i;
		}
	return first;
}

uint64_t script_next_beside(struct script_runner *r, bool *ret_is_timer)
{
	enum beside kind = BESIDE_FACT;
	size_t timer;
	uint64_t ns = next_beside(r, &kind, &timer);

	*ret_is_timer = kind == BESIDE_TIMER;
	return ns;
}

uint64_t script_tell_beside(struct script_runner *r, struct stacks *s, uint64_t ns)
{
	enum beside kind = BESIDE_FACT;
	size_t timer = 0;
	uint64_t at;

	while ((at = next_beside(r, &kind, &timer)) < ns && !r->over) {
		if (kind == BESIDE_FACT)
			tell_fact(r, s, &r->o->facts->list[r->next_fact++]);
		else if (kind == BESIDE_SPAN)
			tell_span(r, s, &r->o->history->spans[r->spans[r->next_span++]]);
		else if (kind == BESIDE_AWAY)
			tell_away(r, s, &r->o->history->aways[r->aways[r->next_away++]]);
		else
			tell_timer(r, s, &r->places.timers[timer]);
	}
	return at;
}

static int by_end(const void *a, const void *b, void *history)
{
	const struct history *h = history;
	const struct span_of *x = &h->spans[*(const uint32_t *)a], *y = &h->spans[*(const uint32_t *)b];

	return x->end_ns != y->end_ns
		       ? (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns)
		       : (*(const uint32_t *)a < *(const uint32_t *)b) - (*(const uint32_t *)a > *(const uint32_t *)b);
}

static int away_by_end(const void *a, const void *b, void *history)
{
	const struct history *h = history;
	const struct away *x = &h->aways[*(const uint32_t *)a], *y = &h->aways[*(const uint32_t *)b];

	return x->end_ns != y->end_ns
		       ? (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns)
		       : (*(const uint32_t *)a > *(const uint32_t *)b) - (*(const uint32_t *)a < *(const uint32_t *)b);
}

void script_sort_history(struct script_runner *r)
{
	const struct history *h = r->o->history;

	if (!h)
		return;
	r->spans = xcalloc(h->n_spans + 1, sizeof *r->spans);
	r->aways = xcalloc(h->n_aways + 1, sizeof *r->aways);
	for (uint32_t i = 0; i < h->n_spans && script_index_has(&r->places.others, OTHER_SPAN); i++)
		if (is_asked(r, OTHER_SPAN, span_kind_name(h->spans[i].kind)))
			r->spans[r->n_spans++] = i;
	for (uint32_t i = 0; i < h->n_aways && script_index_has(&r->places.others, OTHER_WAIT); i++)
		if (h->aways[i].end_ns != UINT64_MAX && is_asked(r, OTHER_WAIT, wait_kind_name(h->aways[i].kind)))
			r->aways[r->n_aways++] = i;
	qsort_r(r->spans, r->n_spans, sizeof *r->spans, by_end, (void *)h);
	qsort_r(r->aways, r->n_aways, sizeof *r->aways, away_by_end, (void *)h);
}
