/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "entry.h"

struct entry_run {
	const bool *functions;
	uint64_t from_ns;
	bool found;
	struct entry entry;
};

static void enter(void *state, struct stacks *s, struct stack *stack, struct frame *frame)
{
	struct entry_run *st = state;

	if (st->found || s->ns < st->from_ns || !frame->at_start || !st->functions[frame->function])
		return;
	st->found = s->stop = true;
	st->entry = (struct entry){ .ns = s->ns, .stack = stacks_number(s, stack), .function = frame->function };
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

int entry_analyse(const struct session *session, const bool *functions, const struct span *within, struct entry *ret,
		  struct error *err)
{
	struct index *index = session->index;
	struct entry_run st = { .functions = functions, .from_ns = within->from_ns };
	struct checkpoint from;
	int result = 0;

	if (!index)
		result = replay(&st, session, NULL, within->to_ns, err);
	for (size_t i = 0; index && i < index->count && !st.found && result == 0; i++) {
		/* events at the very time of the next checkpoint belong to one or the other */
		uint64_t to_ns = i + 1 < index->count ? index->entries[i + 1].ns + 1 : UINT64_MAX;

		if (index->entries[i].ns >= within->to_ns)
			break;
		if (to_ns <= within->from_ns || !index_has(index, i, functions))
			continue;
		if (!index_checkpoint(index, i, &from))
			return error_set(err, "%s.index: damaged: remove it", session->reader->path);
		result = replay(&st, session, &from, to_ns < within->to_ns ? to_ns : within->to_ns, err);
	}
	*ret = st.entry;
	return result < 0 ? -1 : st.found;
}
