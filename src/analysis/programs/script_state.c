/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "script_state.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "replay/numbers.h"
#include "script_runner.h"

void script_state_save(struct script_runner *r, const struct stacks *s, uint64_t ns)
{
	struct script_state *state = &r->state;

	state->there = true;
	state->ns = ns;
	state->stacks.len = 0;
	state->count = 0;
	stacks_save(s, &state->stacks);
	for (size_t i = 0; i < s->count; i++)
		for (size_t k = 0; k < s->list[i].depth; k++) {
			if (!s->list[i].frames[k].data)
				continue;
			state->data = array_grow(state->data, state->count, &state->cap, sizeof *state->data);
			state->data[state->count++] = (struct frame_data){ i, k, s->list[i].frames[k].data };
		}
}

static void move_spending(struct script_runner *r, const struct numbers *n, size_t count)
{
	struct spending *spending = r->spending ? xcalloc(count, sizeof *spending) : NULL;

	for (size_t i = 0; spending && i < r->n_spending; i++) {
		size_t to = n->stacks[i];

		if (to == NUMBER_NONE || spending[to].of)
			free(r->spending[i].of);
		else
			spending[to] = r->spending[i];
	}
	free(r->spending);
	r->spending = spending;
	r->n_spending = spending ? count : 0;
}

static void move_data(struct script_state *state, const struct numbers *n)
{
	size_t kept = 0;

	for (size_t i = 0; i < state->count; i++) {
		struct frame_data d = state->data[i];

		d.stack = n->stacks[d.stack];
		if (d.stack != NUMBER_NONE)
			state->data[kept++] = d;
	}
	state->count = kept;
}

int script_state_move(struct script_runner *r, const struct session *to, struct error *err)
{
	struct script_state *state = &r->state;
	struct buf stacks = { 0 };
	struct numbers n;
	bool good;

	numbers_init(&n, r->o->session, to);
	good = stacks_renumber(&n, &state->stacks, &stacks);
	buf_free(&state->stacks);
	state->stacks = stacks;
	if (good) {
		move_spending(r, &n, stacks_count(to));
		move_data(state, &n);
	}
	numbers_deinit(&n);
	return good ? 0 : error_set(err, "%s: what is under way there cannot be followed", to->reader->path);
}

void script_state_restore(const struct script_state *state, struct stacks *s)
{
	for (size_t i = 0; i < state->count; i++) {
		const struct frame_data *d = &state->data[i];

		if (d->stack < s->count && d->depth < s->list[d->stack].depth)
			s->list[d->stack].frames[d->depth].data = d->data;
	}
}

void script_state_deinit(struct script_state *state)
{
	buf_free(&state->stacks);
	free(state->data);
}
