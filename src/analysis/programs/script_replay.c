/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replays the trace for a program, or as much of it as something may fire in. */
#include <stdlib.h>

#include "replay/index.h"
#include "script_parts.h"
#include "script_worth.h"

/* Up to where the program is over, or nothing fires for a while. */
static int replay_from(struct script_runner *r, const struct checkpoint *from, struct error *err)
{
	const struct stacks_visitor visitor = script_visitor();
	struct session session = *r->o->session;
	struct stacks stacks;
	int result;

	session.is_given_up = r->o->is_enough;
	session.given_up_context = r->o->enough_context;
	r->replays = r->skips = false;
	result = stacks_replay(&stacks, &session, from, r->o->to_ns, &visitor, r, err);
	if (result < 0 && r->o->is_enough && r->o->is_enough(r->o->enough_context)) {
		r->over = true;
		result = 0;
	}
	if (result == 0 && !r->over && !r->skips && r->o->grows)
		result = error_set(err, "%s: it ends before what is known of it", session.reader->path);
	if (result == 0 && !r->over && !r->skips) {
		/* timers end with the trace: what is behind its last event never was */
		if (r->o->to_ns > r->o->end_ns)
			r->places.n_timers = 0;
		script_begin_replay(r, &stacks); /* there may be no event before --to */
		script_tell_beside(r, &stacks, r->o->to_ns);
	}
	stacks_deinit(&stacks);
	return result;
}

/* Timers need no stacks. */
static void tell_timers(struct script_runner *r, uint64_t to_ns)
{
	bool is_timer;
	uint64_t ns;

	to_ns = to_ns < r->o->end_ns ? to_ns : r->o->end_ns;
	while (!r->over && (ns = script_next_beside(r, &is_timer)) < to_ns && is_timer)
		script_tell_beside(r, NULL, ns + 1);
}

static int replay_entries(struct script_runner *r, struct error *err)
{
	struct index *x = r->o->session->index;
	struct checkpoint from;
	int result = 0;

	r->skips_parts = true;
	while (result == 0 && !r->over && r->entry < x->count) {
		if (!script_is_worth(r, r->entry)) {
			tell_timers(r, script_end_of_entry(r, r->entry));
			r->entry += !script_is_worth(r, r->entry);
			continue;
		}
		if (x->entries[r->entry].ns >= r->o->to_ns)
			break;
		if (!index_checkpoint(x, r->entry, &from))
			return error_set(err, "%s.index: damaged: remove it", r->o->session->reader->path);
		result = replay_from(r, &from, err);
		if (!r->skips)
			return result;
	}
	return result;
}

static int replay(struct script_runner *r, struct error *err)
{
	const struct script_state *state = &r->state;

	if (state->there)
		return replay_from(r, &(struct checkpoint){ state->ns, state->stacks.data, state->stacks.len }, err);
	if (r->o->grows || !script_fires_by_calls(r))
		return replay_from(r, NULL, err);
	if (!script_is_seldom(r) && script_parts_may(r))
		return script_parts_replay(r, err);
	return r->o->session->index ? replay_entries(r, err) : replay_from(r, NULL, err);
}

int script_replay(struct script_runner *r, struct error *err)
{
	int result;

	r->functions = script_asked_functions(r);
	result = replay(r, err);
	free(r->functions);
	r->functions = NULL;
	return result;
}
