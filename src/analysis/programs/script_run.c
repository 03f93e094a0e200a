/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "script_run.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "replay/shapes.h"
#include "script_fields.h"
#include "script_places.h"
#include "script_stacks.h"
#include "trace/facts.h"

/* What is known of the moment at which a probe fires. */
struct moment {
	const struct stack *stack;       /* of the thread; NULL: nobody's */
	const struct frame *frame;       /* of the call that begins or ends, if it is one */
	uint64_t ns, insns;
	unsigned cpu;
	uint32_t id;                     /* of the function, the event, the system call */
	struct script_place at;
	const struct event_record *record;
	const uint64_t *args;            /* of a system call */
	uint64_t result;
	uint64_t text_insns;             /* of a system call: the counter at its begin */
	const struct fact *line;         /* of the log */
	const struct span_of *span;
	const struct away *away;
	bool ends;                       /* something ends that has a duration: */
	uint64_t duration_ns, duration_insns, self_ns, self_insns;
};

/* What a stack's frames have spent in calls of theirs that have returned. */
struct spending {
	struct { uint64_t ns, insns; } *of;
	size_t cap;
};

struct script_runner {
	const struct script_run_options *o;
	struct script_places places;
	struct script_stacks stacks;
	struct machine *machine;
	struct moment now;
	long *fields;                    /* by field and event: its number in the event; -1: it has none */
	struct buf text;                 /* of an event's field */
	size_t next_fact, next_span, next_away;
	const struct stack **running;    /* by vCPU */
	unsigned vcpus;
	struct { uint64_t nr, args[6], insns; unsigned cpu; } *calls; /* by stack: its last system call */
	struct spending *spending;       /* by stack; NULL: nobody asks */
	uint32_t *spans;                 /* numbers of the history's spans, by end */
	uint32_t *aways;                 /* likewise */
	size_t n_spans, n_aways;
	uint64_t random;
	bool over;
};

/* What values the machine asks for. */

static const struct thread *thread_now(const struct script_runner *r)
{
	return r->now.stack ? threads_at(r->o->session->threads, r->now.stack->thread) : NULL;
}

static struct value number(uint64_t n)
{
	return (struct value){ .n = n };
}

static struct value text(const char *s)
{
	return (struct value){ .n = strlen(s), .p = (const uint8_t *)s };
}

/* The thread's name; before there are threads, and of CPUs' idle ones, what the kernel calls these. */
static const char *comm_now(const struct script_runner *r)
{
	const struct thread *t = thread_now(r);

	return t ? threads_comm(r->o->session->threads, t, r->now.ns) : "swapper/0";
}

static uint64_t probe_name(const struct script_runner *r)
{
	uint64_t place = 1;

	for (uint32_t h = 0; h < r->now.at.handler; h++)
		place += r->o->script->handlers[h].n_places;
	return (place + r->now.at.place) << 32 | r->now.id;
}

static struct value builtin(void *state, enum builtin b)
{
	struct script_runner *r = state;
	const struct moment *m = &r->now;
	const struct thread *t;

	switch (b) {
	case BUILTIN_COMM:
		return text(comm_now(r));
	case BUILTIN_PID:
	case BUILTIN_TID:
	case BUILTIN_PPID:
		t = thread_now(r);
		return number(!t ? 0 : (uint64_t)(b == BUILTIN_PID ? t->tgid : b == BUILTIN_TID ? t->pid : t->ppid));
	case BUILTIN_CPU:
		return number(m->cpu);
	case BUILTIN_NSECS:
		return number(m->ns);
	case BUILTIN_ELAPSED:
		return number(m->ns - r->o->from_ns);
	case BUILTIN_CURTASK:
		t = thread_now(r);
		return number(t ? t->task : 0);
	case BUILTIN_RAND:
		r->random = r->random * 6364136223846793005u + 1442695040888963407u;
		return number(r->random >> 32);
	case BUILTIN_FUNC:
		return number(m->frame ? m->frame->function : m->stack && m->stack->depth ? m->stack->frames[m->stack->depth - 1].function : 0);
	case BUILTIN_PROBE:
		return number(probe_name(r));
	case BUILTIN_NCPUS:
		return number(r->vcpus);
	case BUILTIN_INSNS:
		return number(m->ends ? m->duration_insns : m->insns);
	case BUILTIN_DURATION:
		return number(m->duration_ns);
	case BUILTIN_SELF_NS:
		return number(m->self_ns);
	case BUILTIN_SELF_INSNS:
		return number(m->self_insns);
	case BUILTIN_DEPTH:
		return number(m->stack ? m->stack->depth : 0);
	default:
		return number(0);
	}
}

static struct value event_field_now(struct script_runner *r, size_t field)
{
	const struct event_record *record = r->now.record;
	long n = r->fields[field * r->o->formats->count + record->event];
	struct event_value v;

	if (n < 0)
		return (struct value){ 0 };
	v = event_value(r->o->decoder, record, (size_t)n, &r->text);
	return v.kind == EVENT_TEXT ? text(v.text) : number(v.kind == EVENT_NOTHING ? 0 : v.number);
}

static struct value syscall_text(struct script_runner *r, int arg)
{
	const struct text *t = arg < 0 || !r->o->texts ? NULL
						     : texts_find(r->o->texts, r->now.cpu, r->now.text_insns, (unsigned)arg);

	return t ? (struct value){ .n = strnlen(t->bytes, t->len), .p = t->bytes } : text("");
}

static struct value syscall_field_now(struct script_runner *r, const struct field_asked *f)
{
	const struct syscall_abi *abi = &r->o->session->reader->arch->abis[0];
	bool is_text = f->type.kind == TYPE_TEXT;
	unsigned index;
	int arg;

	if (!strcmp(f->text, "ret"))
		return number(r->now.result);
	if (!strcmp(f->text, "id") || !strcmp(f->text, "__syscall_nr"))
		return number(r->now.id);
	if (!r->now.args)
		return is_text ? text("") : number(0);
	if (sscanf(f->text, "args[%1u]", &index) == 1)
		arg = index < 6 ? (int)index : -1;
	else
		arg = script_syscall_field(abi, r->now.id, f->text);
	if (is_text)
		return syscall_text(r, arg);
	return number(arg < 0 ? 0 : r->now.args[arg]);
}

static struct value span_field(struct script_runner *r, enum script_own own)
{
	const struct span_of *s = r->now.span;

	switch (own) {
	case OWN_NAME:
		return text(s->name && *s->name ? s->name
			    : s->function != HISTORY_NONE ? names_function(r->o->session->names, s->function) : "");
	case OWN_KIND:
		return text(span_kind_name(s->kind));
	default:
		return number(s->start_ns);
	}
}

static struct value away_field(struct script_runner *r, enum script_own own)
{
	const struct away *a = r->now.away;
	const struct thread *t;

	switch (own) {
	case OWN_KIND:
		return text(wait_kind_name(a->kind));
	case OWN_WHAT:
		return text(a->function == HISTORY_NONE ? "" : names_function(r->o->session->names, a->function));
	case OWN_WAKER:
		t = a->waker == HISTORY_NONE ? NULL : threads_at(r->o->session->threads, a->waker);
		return text(t ? threads_comm(r->o->session->threads, t, r->now.ns) : "");
	default:
		return number(a->start_ns);
	}
}

static struct value own_field(struct script_runner *r, const struct place_asked *place, const char *name)
{
	int own = script_own_field(place->kind, name);

	if (r->now.line)
		return own == OWN_LEVEL ? number(r->now.line->numbers[1])
					: (struct value){ .n = r->now.line->lens[0], .p = (const uint8_t *)fact_text(r->now.line, 0) };
	return r->now.span ? span_field(r, (enum script_own)own) : away_field(r, (enum script_own)own);
}

static struct value field(void *state, size_t number_of_field)
{
	struct script_runner *r = state;
	const struct field_asked *f = &r->o->code->types.fields[number_of_field];
	const struct place_asked *place = &r->o->script->handlers[r->now.at.handler].places[r->now.at.place];

	if (r->now.record)
		return event_field_now(r, number_of_field);
	if (r->now.line || r->now.span || r->now.away)
		return own_field(r, place, f->text);
	return script_is_syscall(place) ? syscall_field_now(r, f) : (struct value){ 0 };
}

static uint64_t stack(void *state, bool user, uint64_t frames)
{
	struct script_runner *r = state;

	return script_stacks_put(&r->stacks, r->now.stack, r->now.ns, user, frames);
}

/* "kprobe" of "kprobe:vfs_*" */
static void put_probe(const struct script_runner *r, const struct place_asked *place, uint32_t id, struct buf *out)
{
	int kind = (int)strcspn(place->text, ":");

	switch (place->kind) {
	case PLACE_ENTRY:
	case PLACE_RETURN:
	case PLACE_CALL:
	case PLACE_CALL_END:
		if (place->name && !strpbrk(place->name, "*?["))
			buf_printf(out, "%s", place->text);
		else
			buf_printf(out, "%.*s:%s", kind, place->text, names_function(r->o->session->names, id));
		return;
	case PLACE_UPROBE:
	case PLACE_URETPROBE:
		if (!strpbrk(place->name, "*?["))
			buf_printf(out, "%s", place->text);
		else
			buf_printf(out, "%.*s:%s:%s", kind, place->text, place->object, names_function(r->o->session->names, id));
		return;
	case PLACE_TRACEPOINT:
		if (!strpbrk(place->name, "*?[") || script_is_syscall(place))
			buf_printf(out, "%s", place->text);
		else
			buf_printf(out, "%.*s:%s:%s", kind, place->text, r->o->formats->list[id].system, r->o->formats->list[id].name);
		return;
	default:
		buf_printf(out, "%s", place->text);
	}
}

static void put_name(void *state, uint64_t n, struct buf *out)
{
	const struct script_runner *r = state;
	const struct script *p = r->o->script;
	uint64_t place = n >> 32;

	if (!place) {
		if (n < names_count(r->o->session->names))
			buf_printf(out, "%s", names_function(r->o->session->names, (uint32_t)n));
		return;
	}
	place--;
	for (size_t h = 0; h < p->n_handlers; h++) {
		if (place < p->handlers[h].n_places) {
			put_probe(r, &p->handlers[h].places[place], (uint32_t)n, out);
			return;
		}
		place -= p->handlers[h].n_places;
	}
}

static void put_stack(void *state, uint64_t n, struct buf *out)
{
	script_stacks_text(&((struct script_runner *)state)->stacks, n, out);
}

static void put_symbol(void *state, uint64_t address, bool user, struct buf *out)
{
	const struct script_runner *r = state;
	struct space_view view = { 0 };
	const struct thread *t = thread_now(r);
	uint32_t version = user && t ? spaces_at(&r->o->session->names->spaces, &view, t->task, r->now.ns) : 0;
	struct place place = names_place(r->o->session->names, address, r->now.ns, version);

	if (names_is_group(r->o->session->names, place.function))
		buf_printf(out, "0x%llx", (unsigned long long)address);
	else
		buf_printf(out, "%s", names_function(r->o->session->names, place.function));
}

static uint64_t address(void *state, const char *function)
{
	const struct script_runner *r = state;
	uint32_t f = names_find(r->o->session->names, function);
	uint64_t ret;

	return f != UINT32_MAX && names_own_address(r->o->session->names, f, &ret) ? ret : 0;
}

/* When probes fire. */

static void fire(struct script_runner *r, struct stacks *s, const struct script_index *x, size_t n)
{
	if (!script_index_has(x, n) || r->now.ns < r->o->from_ns || r->now.ns >= r->o->to_ns)
		return;
	for (uint32_t i = x->first[n]; i < x->first[n + 1] && !r->over; i++) {
		r->now.at = x->list[i];
		r->over = !machine_fire(r->machine, x->list[i].handler);
	}
	if (r->over && s)
		s->stop = true;
}

static void set_frame_moment(struct script_runner *r, const struct stacks *s, const struct stack *stack,
			     const struct frame *frame)
{
	r->now = (struct moment){
		.stack = stack, .frame = frame, .ns = s->ns, .insns = s->insns, .cpu = stack->cpu < 0 ? 0 : (unsigned)stack->cpu,
		.id = frame->function,
	};
}

static void begin_syscall(struct script_runner *r, struct stacks *s, struct stack *stack, struct frame *frame)
{
	const struct event *e = s->event;
	size_t number_of_stack = (size_t)(stack - s->list);

	if (!e || e->kind != EVENT_SYSCALL || e->args[0] >= SCRIPT_SYSCALLS || e->args[7])
		return;
	frame->data = (uint32_t)e->args[0] + 1;
	r->calls[number_of_stack].nr = e->args[0];
	r->calls[number_of_stack].insns = e->insns;
	memcpy(r->calls[number_of_stack].args, e->args + 1, sizeof r->calls->args);
	if (!script_index_has(&r->places.calls, e->args[0]))
		return;
	set_frame_moment(r, s, stack, frame);
	r->now.id = (uint32_t)e->args[0];
	r->now.args = r->calls[number_of_stack].args;
	r->now.text_insns = e->insns;
	fire(r, s, &r->places.calls, e->args[0]);
}

static const uint64_t *result_of(const struct event *e)
{
	if (e && e->kind == EVENT_SYSCALL_RETURN)
		return e->args;
	return e && e->kind == EVENT_INTERRUPT_RETURN && !(e->args[0] & IRET_ELSEWHERE) ? e->args + 1 : NULL;
}

static void end_syscall(struct script_runner *r, struct stacks *s, struct stack *stack, const struct frame *frame)
{
	const uint64_t *result = result_of(s->event);

	if (!frame->data || !result || !script_index_has(&r->places.results, frame->data - 1))
		return;
	set_frame_moment(r, s, stack, frame);
	r->now.id = frame->data - 1;
	r->now.result = *result;
	fire(r, s, &r->places.results, frame->data - 1);
}

static void begin_interrupt(struct script_runner *r, struct stacks *s, struct stack *stack, struct frame *frame)
{
	enum { PAGE_FAULT = 14 };

	if (frame->role != PAGE_FAULT || frame->data || !script_index_has(&r->places.others, OTHER_FAULT))
		return;
	frame->data = 1;
	set_frame_moment(r, s, stack, frame);
	fire(r, s, &r->places.others, OTHER_FAULT);
}

static void spend_nothing(struct script_runner *r, const struct stacks *s, const struct stack *stack)
{
	struct spending *p = &r->spending[stack - s->list];

	p->of = array_reach(p->of, stack->depth, &p->cap, sizeof *p->of);
	p->of[stack->depth - 1].ns = p->of[stack->depth - 1].insns = 0;
}

static void enter(void *state, struct stacks *s, struct stack *stack, struct frame *frame)
{
	struct script_runner *r = state;

	if (r->spending)
		spend_nothing(r, s, stack);
	if (script_index_has(&r->places.entries, frame->function) && frame_is_entered(s, frame)) {
		set_frame_moment(r, s, stack, frame);
		fire(r, s, &r->places.entries, frame->function);
	}
	if (frame->kind == FRAME_SYSCALL)
		begin_syscall(r, s, stack, frame);
	else if (frame->kind == FRAME_INTERRUPT)
		begin_interrupt(r, s, stack, frame);
}

/* What a call had, itself and with its callees; its caller has that in its callees. */
static void end_spending(struct script_runner *r, const struct stacks *s, const struct stack *stack, uint64_t ns,
			 uint64_t insns)
{
	struct spending *p = &r->spending[stack - s->list];
	size_t depth = stack->depth;

	if (depth > 1 && depth <= p->cap) {
		p->of[depth - 2].ns += ns;
		p->of[depth - 2].insns += insns;
	}
}

static void leave(void *state, struct stacks *s, struct stack *stack, const struct frame *frame)
{
	struct script_runner *r = state;
	uint64_t ns = stack->ns - frame->ns, insns = stack->insns - frame->insns;

	if (script_index_has(&r->places.returns, frame->function) && s->end == FRAME_RETURNED) {
		set_frame_moment(r, s, stack, frame);
		r->now.ends = true;
		r->now.duration_ns = s->ns - frame->entry_ns;
		r->now.duration_insns = insns;
		if (r->spending) {
			const struct spending *p = &r->spending[stack - s->list];

			r->now.self_ns = ns - p->of[stack->depth - 1].ns;
			r->now.self_insns = insns - p->of[stack->depth - 1].insns;
		}
		fire(r, s, &r->places.returns, frame->function);
	}
	if (r->spending)
		end_spending(r, s, stack, ns, insns);
	if (frame->kind == FRAME_SYSCALL)
		end_syscall(r, s, stack, frame);
}

static bool fires_in(const struct script_runner *r, const struct shape *shape)
{
	for (unsigned i = 0; i < shape->count; i++) {
		uint32_t f = shape->frames[i].function;

		if (script_index_has(&r->places.entries, f) || script_index_has(&r->places.returns, f))
			return true;
	}
	return false;
}

/* A phrase in which nothing fires is gone past. */
static bool takes(void *state, const struct stack *stack, struct shape *shape)
{
	(void)stack;
	if (!shape->judged) {
		shape->judged = true;
		shape->odd = fires_in(state, shape);
	}
	return !shape->odd;
}

static void phrase(void *state, struct stacks *s, struct stack *stack, const struct stacks_phrase *p)
{
	struct script_runner *r = state;
	const struct frame *own = &stack->frames[stack->depth - 1];

	if (r->spending)
		end_spending(r, s, stack, stack->ns + p->spent.ns - own->ns, stack->insns + p->spent.insns - own->insns);
}

/* Deeper frames have other numbers from here on. */
static void forget(void *state, struct stacks *s, struct stack *stack, size_t n)
{
	struct script_runner *r = state;
	struct spending *p = r->spending ? &r->spending[stack - s->list] : NULL;

	if (p && stack->depth <= p->cap)
		memmove(p->of, p->of + n, (stack->depth - n) * sizeof *p->of);
}

static void switched(void *state, struct stacks *s, const struct stack *from, const struct stack *to, unsigned cpu)
{
	struct script_runner *r = state;

	if (cpu < r->vcpus)
		r->running[cpu] = to;
	if (from == to || !script_index_has(&r->places.others, OTHER_SWITCH))
		return;
	r->now = (struct moment){ .stack = from, .ns = s->ns, .insns = s->insns, .cpu = cpu };
	fire(r, s, &r->places.others, OTHER_SWITCH);
}

/* What is beside the events. */

static void tell_fact(struct script_runner *r, struct stacks *s, const struct fact *f)
{
	struct event_record record;

	if (f->kind == FACT_LOG && script_index_has(&r->places.others, OTHER_LOG)) {
		r->now = (struct moment){ .ns = f->ns, .insns = f->insns, .cpu = f->cpu, .line = f };
		r->now.stack = s ? stacks_running(s, f->task, f->cpu, f->ns) : NULL;
		fire(r, s, &r->places.others, OTHER_LOG);
		return;
	}
	if (f->kind != FACT_EVENT || !event_record_of(r->o->formats, f, &record) ||
	    !script_index_has(&r->places.events, record.event))
		return;
	r->now = (struct moment){ .ns = f->ns, .insns = f->insns, .cpu = f->cpu, .record = &record, .id = (uint32_t)record.event };
	r->now.stack = s ? stacks_running(s, f->task, f->cpu, f->ns) : NULL;
	/* the function that a probe is at, for `func` and `probe` */
	if (r->now.stack && r->now.stack->depth && !strcmp(r->o->formats->list[record.event].system, SCRIPT_GROUP)) {
		r->now.frame = &r->now.stack->frames[r->now.stack->depth - 1];
		r->now.id = r->now.frame->function;
	}
	fire(r, s, &r->places.events, record.event);
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

static void tell_span(struct script_runner *r, struct stacks *s, const struct span_of *span)
{
	r->now = (struct moment){
		.ns = span->end_ns, .span = span, .ends = true, .duration_ns = span->end_ns - span->start_ns,
		.duration_insns = span->insns, .self_ns = span->cpu_ns,
	};
	if (s && span->thread < s->count)
		r->now.stack = &s->list[span->thread];
	fire_kind(r, s, OTHER_SPAN, span_kind_name(span->kind));
}

static void tell_away(struct script_runner *r, struct stacks *s, const struct away *a)
{
	r->now = (struct moment){
		.ns = a->end_ns, .away = a, .ends = true, .duration_ns = a->end_ns - a->start_ns,
	};
	if (s && a->thread < s->count)
		r->now.stack = &s->list[a->thread];
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
	if (r->over && s)
		s->stop = true;
	t->next_ns += t->ns;
}

/* The kinds of what is beside the events, and when the next of each is. */
enum beside { BESIDE_FACT, BESIDE_SPAN, BESIDE_AWAY, BESIDE_TIMER };

static uint64_t next_beside(const struct script_runner *r, enum beside *ret, size_t *ret_timer)
{
	uint64_t first = UINT64_MAX, ns;

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

/* All from before that time. Returns the time of the next. */
static uint64_t tell_beside(struct script_runner *r, struct stacks *s, uint64_t ns)
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

static void find_running(struct script_runner *r, const struct stacks *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->list[i].cpu >= 0 && (unsigned)s->list[i].cpu < r->vcpus)
			r->running[s->list[i].cpu] = &s->list[i];
}

static void due(void *state, struct stacks *s)
{
	struct script_runner *r = state;
	uint64_t next;

	if (!r->calls) {
		r->calls = xcalloc(s->count, sizeof *r->calls);
		find_running(r, s);
	}
	next = tell_beside(r, s, s->ns);
	s->due_ns = next == UINT64_MAX ? next : next + 1;
}

static int by_end(const void *a, const void *b, void *history)
{
	const struct history *h = history;
	const struct span_of *x = &h->spans[*(const uint32_t *)a], *y = &h->spans[*(const uint32_t *)b];

	return x->end_ns != y->end_ns ? (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns)
				      : (*(const uint32_t *)a < *(const uint32_t *)b) - (*(const uint32_t *)a > *(const uint32_t *)b);
}

static int away_by_end(const void *a, const void *b, void *history)
{
	const struct history *h = history;
	const struct away *x = &h->aways[*(const uint32_t *)a], *y = &h->aways[*(const uint32_t *)b];

	return x->end_ns != y->end_ns ? (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns)
				      : (*(const uint32_t *)a > *(const uint32_t *)b) - (*(const uint32_t *)a < *(const uint32_t *)b);
}

static void sort_history(struct script_runner *r)
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

/* A field's number in each of the events that its handler is at. */
static void find_fields(struct script_runner *r)
{
	const struct types *t = &r->o->code->types;
	size_t events = r->o->formats ? r->o->formats->count : 0;

	r->fields = xcalloc(t->n_fields * events + 1, sizeof *r->fields);
	for (size_t f = 0; f < t->n_fields; f++)
		for (size_t e = 0; e < events; e++) {
			char name[24];
			bool own = !strcmp(r->o->formats->list[e].system, SCRIPT_GROUP);

			snprintf(name, sizeof name, "v%zu", script_field_number(t, f));
			r->fields[f * events + e] = script_event_field(r->o->decoder, e, own ? name : t->fields[f].text);
		}
}

static bool asks_self(const struct script *p)
{
	for (const struct node *n = p->nodes; n; n = n->next)
		if (n->kind == NODE_BUILTIN && (n->number == BUILTIN_SELF_NS || n->number == BUILTIN_SELF_INSNS))
			return true;
	return false;
}

static void fire_edge(struct script_runner *r, enum script_other other, uint64_t ns)
{
	r->now = (struct moment){ .ns = ns };
	fire(r, NULL, &r->places.others, other);
}

static int replay(struct script_runner *r, struct error *err)
{
	static const struct stacks_visitor visitor = {
		.enter = enter, .leave = leave, .switched = switched, .due = due, .phrase = phrase, .takes = takes, .forget = forget,
	};
	struct stacks stacks;
	int result = stacks_replay(&stacks, r->o->session, NULL, r->o->to_ns, &visitor, r, err);

	if (result == 0 && !r->over) {
		/* timers end with the trace: what is behind its last event never was */
		r->places.n_timers = 0;
		tell_beside(r, &stacks, r->o->to_ns);
	}
	stacks_deinit(&stacks);
	return result;
}

static int run(struct script_runner *r, struct error *err)
{
	fire_edge(r, OTHER_BEGIN, r->o->from_ns);
	if (!r->over && replay(r, err) < 0)
		return -1;
	r->over = false;
	fire_edge(r, OTHER_END, r->o->to_ns < r->o->end_ns ? r->o->to_ns - 1 : r->o->end_ns);
	return machine_end(r->machine, err);
}

int script_run(const struct script_run_options *o, struct script_outcome *ret, struct error *err)
{
	struct script_runner r = { .o = o, .random = 1, .vcpus = reader_vcpus(o->session->reader) };
	const struct machine_options options = {
		.host = { builtin, field, stack, put_name, put_stack, put_symbol, address, o->began_ns, &r },
		.out = o->out,
		.json = o->json,
	};
	int result = script_places_find(o, &r.places, err);

	if (result == 0) {
		script_stacks_init(&r.stacks, o->session);
		r.machine = machine_new(o->code, &options);
		r.running = xcalloc(r.vcpus + 1, sizeof(struct stack *));
		if (asks_self(o->script))
			r.spending = xcalloc(stacks_count(o->session), sizeof *r.spending);
		find_fields(&r);
		sort_history(&r);
		machine_say_attached(r.machine, r.places.probes);
		result = run(&r, err);
		ret->losses = machine_losses(r.machine);
		ret->stacks = r.stacks.left_out;
		machine_free(r.machine);
		script_stacks_deinit(&r.stacks);
	}
	for (size_t i = 0; r.spending && i < stacks_count(o->session); i++)
		free(r.spending[i].of);
	free(r.spending);
	free(r.running);
	free(r.fields);
	free(r.calls);
	free(r.spans);
	free(r.aways);
	buf_free(&r.text);
	script_places_deinit(&r.places);
	return result;
}

static bool has_place(const struct script *p, bool (*is)(const struct place_asked *place))
{
	for (size_t h = 0; h < p->n_handlers; h++)
		for (size_t i = 0; i < p->handlers[h].n_places; i++)
			if (is(&p->handlers[h].places[i]))
				return true;
	return false;
}

static bool is_of_history(const struct place_asked *place)
{
	return place->kind == PLACE_SPAN || place->kind == PLACE_WAIT;
}

static bool is_of_facts(const struct place_asked *place)
{
	return place->kind == PLACE_LOG || place->kind == PLACE_TRACEPOINT || place->kind == PLACE_USDT ||
	       place->kind == PLACE_ENTRY || place->kind == PLACE_RETURN || place->kind == PLACE_CALL ||
	       place->kind == PLACE_CALL_END || place->kind == PLACE_UPROBE || place->kind == PLACE_URETPROBE;
}

bool script_wants_facts(const struct script *p)
{
	return has_place(p, is_of_facts);
}

bool script_wants_texts(const struct script *p)
{
	return has_place(p, script_is_syscall);
}

bool script_wants_history(const struct script *p)
{
	return has_place(p, is_of_history);
}
