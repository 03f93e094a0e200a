/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What replaying stacks keeps of its own: for stacks.c, and for what saves and restores it. */
#ifndef UPTO_REPLAY_STACKS_STATE_H
#define UPTO_REPLAY_STACKS_STATE_H

#include "stacks.h"

/* A vCPU under way. */
struct lane {
	struct stack *stack;
	struct meter meter;
	size_t record; /* the next of the reader's task records to be looked at … */
	uint64_t record_insns; /* … not before this */
	uint64_t place; /* where control went last */
	int stage; /* see stage_of(); 0: nothing ran yet */
	struct space_view view;
};

struct replay {
	struct stacks *stacks;
	const struct stacks_visitor *visitor;
	void *state;
	const struct reader *reader;
	struct name_cache *cache;
	struct shapes *shapes; /* NULL: phrases are not gone past */
	bool recording; /* one of those */
	struct lane *lanes;
	unsigned n_lanes;
	uint64_t gap; /* number of the gap that came last; 0: none */
	size_t next_boot; /* number of the boot that is to begin next */
	uint64_t task; /* that the event being replayed is of, and what it has mapped */
	struct space_view *view;
	uint32_t new_thread[2], switches; /* function numbers of arch.h's */
	uint32_t dead; /* function number of do_task_dead; UINT32_MAX: not known */
};

static inline void set_lane(struct lane *lane, uint64_t insns, uint64_t ns, uint64_t place)
{
	lane->meter.insns = insns;
	lane->meter.ns = ns;
	lane->place = place;
}

/* stacks.c: replay events that have no times, of one stack that runs all the time. */
void replay_untimed(struct replay *r, struct lane *lane, const struct batch *batch, const struct event *events,
		    const struct event *end);

/* stacks.c: the call leads to that address. */
void replay_push_call(struct replay *r, struct stack *stack, const struct event *call, uint64_t addr);

/* stacks_phrases.c: replay the batch's events up to `end`, and go past its phrases. */
void replay_brief(struct replay *r, struct lane *lane, struct batch *batch, const struct event *end);

/* Everything as it was saved; -1: it is damaged. */
int stacks_restore(struct stacks *s, const struct checkpoint *from, struct error *err);

#endif
