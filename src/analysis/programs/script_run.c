/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "script_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/name_table.h"
#include "script_counts.h"
#include "script_fields.h"
#include "script_runner.h"

/* A field's number in each of the events that its handler is at. */
static void find_fields(struct script_runner *r)
{
	const struct types *t = &r->o->code->types;
	size_t events = r->o->formats ? r->o->formats->count : 0;

	r->fields = xcalloc(t->n_fields * events + 1, sizeof *r->fields);
	for (size_t f = 0; f < t->n_fields; f++)
		for (size_t e = 0; e < events; e++) {
			char name[SCRIPT_FIELD_NAME];
			bool own = event_is_of_program(&r->o->formats->list[e]);
			const char *text = t->fields[f].text;

			script_field_name(&t->fields[f], name);
			r->fields[f * events + e] = script_event_field(r->o->decoder, e,
								       own            ? name
								       : *text == '$' ? text + 1
										      : text);
		}
}

/* Where an event's records say which function returned. */
static void find_probed(struct script_runner *r)
{
	size_t events = r->o->formats ? r->o->formats->count : 0;

	r->probed = xcalloc(events + 1, sizeof *r->probed);
	for (size_t e = 0; e < events; e++)
		r->probed[e] = script_event_field(r->o->decoder, e, "__probe_func");
}

static void find_names(struct script_runner *r)
{
	const struct names *n = r->o->session->names;

	r->name_of = xcalloc(names_count(n), sizeof *r->name_of);
	for (uint32_t f = 0; f < names_count(n); f++) {
		size_t len;
		const char *text = names_alone(n, f, &len);

		r->name_of[f] = name_table_put(&r->names, text, len);
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
	script_fire(r, NULL, &r->places.others, other);
}

struct script_runner *script_begin(const struct script_run_options *o)
{
	struct script_runner *r = xcalloc(1, sizeof *r);
	struct machine_options options;

	r->o = o;
	r->random = 1;
	options = (struct machine_options){ .host = script_host(r), .out = o->out, .json = o->json };
	script_stacks_init(&r->stacks);
	r->machine = machine_new(o->code, &options);
	return r;
}

/* More vCPUs may be there than before. */
static void make_room_for_counts(struct script_runner *r)
{
	size_t n = (size_t)r->places.others.first[OTHERS] * r->vcpus;

	r->counted = xreallocarray(r->counted, n + 1, sizeof *r->counted);
	for (; r->n_counted < n; r->n_counted++)
		r->counted[r->n_counted] = 0;
}

/* What is of one session. What is printed at the end has names of the last one. */
static void begin_part(struct script_runner *r)
{
	script_stacks_begin(&r->stacks, r->o->session);
	r->vcpus = reader_vcpus(r->o->session->reader);
	r->running = xcalloc(r->vcpus + 1, sizeof(struct stack *));
	r->parents = xcalloc(r->o->session->threads->count + 1, sizeof *r->parents);
	if (asks_self(r->o->script) && !r->spending) {
		r->n_spending = stacks_count(r->o->session);
		r->spending = xcalloc(r->n_spending, sizeof *r->spending);
	}
	make_room_for_counts(r);
	find_fields(r);
	find_probed(r);
	find_names(r);
	script_sort_history(r);
}

static void end_part(struct script_runner *r)
{
	free(r->running);
	free(r->parents);
	free(r->fields);
	free(r->probed);
	free(r->name_of);
	free(r->spans);
	free(r->aways);
	map_free(&r->probe_names);
	r->running = NULL;
	r->parents = NULL;
	r->fields = r->probed = NULL;
	r->name_of = NULL;
	r->spans = r->aways = NULL;
	r->n_spans = r->n_aways = r->next_span = r->next_away = r->next_fact = 0;
}

/* Timers go on where another part of the trace begins. */
static int find_places(struct script_runner *r, struct error *err)
{
	struct script_places before = r->places;
	int result = script_places_find(r->o, &r->places, err);

	for (size_t i = 0; i < before.n_timers && i < r->places.n_timers; i++)
		r->places.timers[i].next_ns = before.timers[i].next_ns;
	script_places_deinit(&before);
	return result;
}

static void say_begin(struct script_runner *r)
{
	if (r->began)
		return;
	r->began = true;
	machine_say_attached(r->machine, r->places.probes);
	fire_edge(r, OTHER_BEGIN, r->o->from_ns);
}

int script_go_on(struct script_runner *r, const struct script_run_options *o, struct error *err)
{
	int result = 0;

	end_part(r);
	if (r->state.there && script_state_move(r, o->session, err) < 0)
		return -1;
	r->o = o;
	if (find_places(r, err) < 0)
		return -1;
	begin_part(r);
	say_begin(r);
	if (!r->over)
		result = !o->grows && !r->state.there && script_counts_only(r) ? script_count(r, err)
									       : script_replay(r, err);
	if (result == 0 && o->grows)
		result = machine_pass_on(r->machine, err);
	return result;
}

int script_end(struct script_runner *r, struct script_outcome *ret, struct error *err)
{
	const struct script_run_options *o = r->o;
	uint64_t last = o->to_ns <= o->end_ns ? o->to_ns - 1 : o->end_ns;
	uint64_t end = r->over && r->now.ns < last ? r->now.ns : last;
	int result;

	r->over = false;
	machine_begin_end(r->machine);
	/* it ends within what was asked for, also if nothing of that was reached */
	fire_edge(r, OTHER_END, end > o->from_ns ? end : o->from_ns);
	result = machine_end(r->machine, err);
	ret->losses = machine_losses(r->machine);
	ret->exit_code = machine_exit_code(r->machine);
	ret->stacks = r->stacks.left_out;
	free(ret->passed_over);
	ret->passed_over = r->places.passed_over.len ? xstrndup((const char *)r->places.passed_over.data,
								r->places.passed_over.len)
						      : NULL;
	return result;
}

bool script_is_over(const struct script_runner *r)
{
	return r->over;
}

void script_free_runner(struct script_runner *r)
{
	end_part(r);
	for (size_t i = 0; i < r->n_spending; i++)
		free(r->spending[i].of);
	free(r->spending);
	free(r->counted);
	script_state_deinit(&r->state);
	machine_free(r->machine);
	script_stacks_deinit(&r->stacks);
	script_places_deinit(&r->places);
	name_table_deinit(&r->names);
	buf_free(&r->text);
	free(r);
}

int script_run(const struct script_run_options *o, struct script_outcome *ret, struct error *err)
{
	struct script_runner *r = script_begin(o);
	int result = script_go_on(r, o, err);

	if (result == 0)
		result = script_end(r, ret, err);
	script_free_runner(r);
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
