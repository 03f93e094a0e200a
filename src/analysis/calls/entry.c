/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "entry.h"

struct entry_run {
	const bool *functions;
	bool found;
	struct entry entry;
};

static void enter(void *state, struct stacks *s, struct stack *stack, struct frame *frame)
{
	struct entry_run *st = state;

	if (st->found || !frame->at_start || !st->functions[frame->function])
		return;
	st->found = s->stop = true;
	st->entry = (struct entry){ .ns = s->ns, .stack = (uint32_t)(stack - s->list), .function = frame->function };
}

static int replay(struct entry_run *st, const struct session *session, const struct checkpoint *from, uint64_t to_ns,
		  struct error *err)
{
	static const struct stacks_visitor visitor = { .enter = enter };
	struct stacks stacks;
	int result = stacks_replay(&stacks, session, from, to_ns, &visitor, st, err);

	stacks_deinit(&stacks);
	return result;
}

int entry_analyse(const struct session *session, const bool *functions,
		  struct entry *ret, struct error *err)
{
	struct entry_run st = { .functions = functions };
	struct checkpoint from;
	int result = 0;

	if (!session->index)
		result = replay(&st, session, NULL, UINT64_MAX, err);
	for (size_t i = 0; session->index && i < session->index->count && !st.found && result == 0; i++) {
		if (!index_has(session->index, i, functions))
			continue;
		if (!index_checkpoint(session->index, i, &from))
			return error_set(err, "%s.index: damaged: remove it", session->reader->path);
		/* events at the very time of the next checkpoint belong to one or the other */
		result =
			replay(&st, session, &from,
			       i + 1 < session->index->count ? session->index->entries[i + 1].ns + 1 : UINT64_MAX, err);
	}
	*ret = st.entry;
	return result < 0 ? -1 : st.found;
}
