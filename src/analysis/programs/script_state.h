/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a program's replay of a trace that grows has stopped, to go on from there in a later session. */
#ifndef UPTO_ANALYSIS_SCRIPT_STATE_H
#define UPTO_ANALYSIS_SCRIPT_STATE_H

#include "replay/stacks.h"

struct script_runner;

struct script_state {
	bool there;
	uint64_t ns;        /* all before it is replayed */
	struct buf stacks;  /* as a checkpoint has them */
	struct frame_data { /* of frames that have any */
		size_t stack, depth;
		uint32_t data;
	} * data;
	size_t count, cap;
};

/* In the replay's due(): it stops there. */
void script_state_save(struct script_runner *r, const struct stacks *s, uint64_t ns);
/* What the runner has of stacks gets the numbers of a later session. */
int script_state_move(struct script_runner *r, const struct session *to, struct error *err);
/* In the first due() of the replay that goes on: what a checkpoint does not have. */
void script_state_restore(const struct script_state *state, struct stacks *s);
void script_state_deinit(struct script_state *state);

#endif
