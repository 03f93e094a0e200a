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

static int run(struct script_runner *r, struct error *err)
{
	uint64_t end;

	fire_edge(r, OTHER_BEGIN, r->o->from_ns);
	if (!r->over && (script_counts_only(r) ? script_count(r, err) : script_replay(r, err)) < 0)
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
