/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "moments.h"

struct moments_run {
	const uint64_t *moments;
	size_t next, end; /* those of the part that is replayed */
	moments_taker take;
	void *state;
};

static void due(void *state, struct stacks *s)
{
	struct moments_run *run = state;

	while (run->next < run->end && s->ns >= run->moments[run->next])
		run->take(run->state, run->next++, s);
	s->due_ns = run->next < run->end ? run->moments[run->next] : UINT64_MAX;
}

/* Those that come before there is another checkpoint to begin from, or soon behind it. */
static size_t end_of_part(const struct index *x, const uint64_t *moments, size_t i, size_t n)
{
	enum { NEAR = 2 }; /* entries: what lies in between is replayed in less time than a checkpoint takes */

	do
		i++;
	while (i < n && (!x || index_at(x, moments[i]) < index_at(x, moments[i - 1]) + NEAR));
	return i;
}

int moments_analyse(const struct session *session, const uint64_t *moments, size_t n, moments_taker take, void *state,
		    struct error *err)
{
	static const struct stacks_visitor visitor = { .due = due };
	struct index *x = session->index;
	struct moments_run run = { .moments = moments, .take = take, .state = state };
	int result = 0;

	while (result == 0 && run.next < n) {
		struct checkpoint from;
		struct stacks stacks;
		bool begun = x && index_checkpoint(x, index_at(x, moments[run.next]), &from);

		run.end = end_of_part(x, moments, run.next, n);
		result = stacks_replay(&stacks, session, begun ? &from : NULL, moments[run.end - 1], &visitor, &run,
				       err);
		while (result == 0 && run.next < run.end)
			take(state, run.next++, &stacks);
		stacks_deinit(&stacks);
	}
	return result;
}
