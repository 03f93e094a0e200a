/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "script_counts.h"

#include "analysis/sums/function_analysis.h"

/* Does the step do the same at every call of one function, but count? */
static bool is_plain(const struct step *s)
{
	switch (s->op) {
	case STEP_NUMBER:
	case STEP_TEXT:
	case STEP_NAME_TEXT:
	case STEP_ARITHMETIC:
	case STEP_TEXTS:
	case STEP_NOT:
	case STEP_TRUTH:
	case STEP_TUPLE:
	case STEP_COUNT:
	case STEP_MARK:
	case STEP_RELEASE:
	case STEP_JUMP:
	case STEP_JUMP_FALSE:
	case STEP_END:
		return true;
	case STEP_BUILTIN:
		return s->a == BUILTIN_PROBE || s->a == BUILTIN_PROBE_TYPE || s->a == BUILTIN_FUNC ||
		       s->a == BUILTIN_NCPUS;
	default:
		return false;
	}
}

static bool counts_only(const struct script_runner *r, size_t handler)
{
	const struct script_code *code = r->o->code;
	size_t end = handler + 1 < r->o->script->n_handlers ? code->begins[handler + 1] : code->n_steps;

	for (size_t i = code->begins[handler]; i < end; i++)
		if (!is_plain(&code->steps[i]))
			return false;
	return true;
}

static bool is_entry(enum place_kind kind)
{
	return kind == PLACE_ENTRY || kind == PLACE_CALL || kind == PLACE_UPROBE;
}

bool script_counts_only(const struct script_runner *r)
{
	const struct script *p = r->o->script;
	bool any = false;

	/* which keys there is room for goes by time */
	if (r->o->from_ns || r->o->to_ns != UINT64_MAX || p->n_bounds)
		return false;
	for (size_t h = 0; h < p->n_handlers; h++)
		for (size_t i = 0; i < p->handlers[h].n_places; i++) {
			enum place_kind kind = p->handlers[h].places[i].kind;

			if (kind == PLACE_BEGIN || kind == PLACE_END)
				continue;
			if (!is_entry(kind) || script_needs_of(r->o->needs, h, i) || !counts_only(r, h))
				return false;
			any = true;
		}
	return any;
}

int script_count(struct script_runner *r, struct error *err)
{
	const struct script_index *x = &r->places.entries;
	struct session session = *r->o->session;
	const struct span all = SPAN_ALL;
	struct functions sums;
	int result;

	session.is_given_up = r->o->is_enough;
	session.given_up_context = r->o->enough_context;
	result = functions_analyse(&session, &all, &sums, err);
	for (uint32_t f = 0; result == 0 && f < x->count; f++) {
		if (!sums.stats[f].calls)
			continue;
		r->now = (struct moment){ .id = f, .function = f, .has_function = true };
		for (uint32_t i = x->first[f]; i < x->first[f + 1]; i++) {
			r->now.at = x->list[i];
			machine_fire_times(r->machine, x->list[i].handler, sums.stats[f].calls);
		}
	}
	functions_deinit(&sums);
	return result;
}
