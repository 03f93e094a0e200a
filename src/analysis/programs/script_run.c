/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "script_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/name_table.h"
#include "replay/shapes.h"
#include "script_counts.h"
#include "script_fields.h"
#include "script_runner.h"

void script_fire(struct script_runner *r, struct stacks *s, const struct script_index *x, size_t n)
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
		.stack = stack,
		.frame = frame,
		.function = frame->function,
		.has_function = true,
		.ns = s->ns,
		.insns = s->insns,
		.cpu = stack->cpu < 0 ? 0 : (unsigned)stack->cpu,
		.id = frame->function,
	};
}

static void begin_syscall(struct script_runner *r, struct stacks *s, struct stack *stack, struct frame *frame)
{
	const struct event *e = s->event;
	struct script_syscall *call = &r->calls[stack - s->list];
	uint32_t number;

	if (!e || e->kind != EVENT_SYSCALL)
		return;
	number = e->args[7] || e->args[0] >= SCRIPT_OTHER_SYSCALL ? SCRIPT_OTHER_SYSCALL : (uint32_t)e->args[0];
	frame->data = number + 1;
	call->nr = e->args[0];
	memcpy(call->args, e->args + 1, sizeof call->args);
	if (!script_index_has(&r->places.calls, number))
		return;
	set_frame_moment(r, s, stack, frame);
	r->now.has_function = false;
	r->now.id = (uint32_t)e->args[0];
	r->now.args = call->args;
	r->now.text_insns = e->insns;
	script_fire(r, s, &r->places.calls, number);
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
	r->now.has_function = false;
	r->now.id = (uint32_t)r->calls[stack - s->list].nr;
	r->now.result = *result;
	r->now.exits = true;
	script_fire(r, s, &r->places.results, frame->data - 1);
}

static void begin_interrupt(struct script_runner *r, struct stacks *s, struct stack *stack, struct frame *frame)
{
	enum { PAGE_FAULT = 14 };

	if (frame->role != PAGE_FAULT || frame->data || !script_index_has(&r->places.others, OTHER_FAULT))
		return;
	frame->data = 1;
	set_frame_moment(r, s, stack, frame);
	script_fire(r, s, &r->places.others, OTHER_FAULT);
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
		script_fire(r, s, &r->places.entries, frame->function);
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
		script_fire(r, s, &r->places.returns, frame->function);
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
		end_spending(r, s, stack, stack->ns + p->spent.ns - own->ns,
			     stack->insns + p->spent.insns - own->insns);
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
	script_fire(r, s, &r->places.others, OTHER_SWITCH);
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
	next = script_tell_beside(r, s, s->ns);
	s->due_ns = next == UINT64_MAX ? next : next + 1;
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
			r->fields[f * events + e] =
				script_event_field(r->o->decoder, e, own ? name : t->fields[f].text);
		}
}

static void find_names(struct script_runner *r)
{
	const struct names *n = r->o->session->names;
	uint32_t *numbers =
		xcalloc(names_count(n), sizeof *numbers); /* by number of the name: the first function, + 1 */
	struct name_table texts = { 0 };

	r->first_of_name = xcalloc(names_count(n), sizeof *r->first_of_name);
	for (uint32_t f = 0; f < names_count(n); f++) {
		size_t len;
		const char *text = script_function_name(n, f, &len);
		uint32_t *number = &numbers[name_table_put(&texts, text, len)];

		if (!*number)
			*number = f + 1;
		r->first_of_name[f] = *number - 1;
	}
	name_table_deinit(&texts);
	free(numbers);
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
	script_fire(r, NULL, &r->places.others, other);
}

static int replay(struct script_runner *r, struct error *err)
{
	static const struct stacks_visitor visitor = {
		.enter = enter,
		.leave = leave,
		.switched = switched,
		.due = due,
		.phrase = phrase,
		.takes = takes,
		.forget = forget,
	};
	struct session session = *r->o->session;
	struct stacks stacks;
	int result;

	session.is_given_up = r->o->is_enough;
	session.given_up_context = r->o->enough_context;
	result = stacks_replay(&stacks, &session, NULL, r->o->to_ns, &visitor, r, err);
	if (result < 0 && r->o->is_enough && r->o->is_enough(r->o->enough_context)) {
		r->over = true;
		result = 0;
	}
	if (result == 0 && !r->over) {
		/* timers end with the trace: what is behind its last event never was */
		r->places.n_timers = 0;
		script_tell_beside(r, &stacks, r->o->to_ns);
	}
	stacks_deinit(&stacks);
	return result;
}

static int run(struct script_runner *r, struct error *err)
{
	uint64_t end;

	fire_edge(r, OTHER_BEGIN, r->o->from_ns);
	if (!r->over && (script_counts_only(r) ? script_count(r, err) : replay(r, err)) < 0)
		return -1;
	end = r->over ? r->now.ns : r->o->to_ns < r->o->end_ns ? r->o->to_ns - 1 : r->o->end_ns;
	r->over = false;
	fire_edge(r, OTHER_END, end);
	return machine_end(r->machine, err);
}

int script_run(const struct script_run_options *o, struct script_outcome *ret, struct error *err)
{
	struct script_runner r = { .o = o, .random = 1, .vcpus = reader_vcpus(o->session->reader) };
	const struct machine_options options = {
		.host = script_host(&r),
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
		find_names(&r);
		script_sort_history(&r);
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
	free(r.first_of_name);
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

static bool is_of_log(const struct place_asked *place)
{
	return place->kind == PLACE_LOG;
}

bool script_wants_facts(const struct script *p, const struct script_needs *needs, const struct script_code *code)
{
	return needs->count || has_place(p, is_of_log) || script_wants_arguments(code);
}

bool script_wants_texts(const struct script *p)
{
	return has_place(p, script_is_syscall);
}

bool script_wants_history(const struct script *p)
{
	return has_place(p, is_of_history);
}

bool script_wants_arguments(const struct script_code *code)
{
	for (size_t i = 0; i < code->n_steps; i++)
		if (code->steps[i].op == STEP_JOIN)
			return true;
	return false;
}
