/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls that are not shown: what they ran is their callers', and what they called is called by those. A session with a
 * fold replays as if such calls had never been made: visitors, and whoever looks at stacks afterwards, see the others
 * only, each with its own slot, address and times.
 *
 *	stacks as they were          f  kasan_check_range  memcpy        f  lock  g
 *	folded: kasan_*, all below   f                                   f        g
 *	        lock, itself                                                      called by f, from an address in lock
 *
 * A frame that begins a thread is always shown: without it, its time would be nobody's. An interrupt is not below what
 * it cuts into. Where only what is below some functions is asked for, nothing else is shown, and no time that passes
 * outside them is told.
 */
#ifndef UPTO_REPLAY_FOLD_H
#define UPTO_REPLAY_FOLD_H

#include "stacks.h"

enum fold_mark {
	FOLD_NONE,
	FOLD_SELF,       /* its calls are not shown; what is called in them may be */
	FOLD_BELOW,      /* nor what is called in them */
	FOLD_MARK = 3,   /* the bits of these; above them, shifted by FOLD_KIND, is whose time is added up */
	FOLD_KIND = 2,
};

enum { FOLD_KINDS = 32 };

/* What whoever has it keeps as long as the session is used. */
struct fold {
	const uint8_t *marks;   /* enum fold_mark and a kind by function; NULL: none */
	/*
	 * FOLD_KINDS: gets what passed in folded calls, by the kind of their mark; 0: in all, of chosen threads; NULL:
	 * nobody asks
	 */
	struct spent *spent;
	struct span span;       /* … only what passed in it */
	const bool *below;      /* marks: only what is called in calls of these, and they themselves; NULL: anything */
	bool no_interrupts, only_interrupts; /* interrupts, and what is called in them */
	/* levels that are shown, from a system call, an interrupt, a thread's begin or a call of `below`; 0: all */
	uint64_t depth;
};

/*
 * Would a frame of the function be shown, also if it did not begin its thread? Lists of calls leave out those that
 * would not.
 */
static inline bool fold_chooses(const struct fold *f, uint32_t function)
{
	return !f || ((!f->marks || !(f->marks[function] & FOLD_MARK)) && (!f->below || f->below[function]) &&
		      !f->only_interrupts);
}

/* A number for what it folds, of that many functions; 0: there is none. */
uint64_t fold_print(const struct fold *f, size_t functions);

/* stacks_replay() of a session with a fold. */
int fold_replay(struct stacks *ret, const struct session *session, const struct checkpoint *from, uint64_t to_ns,
		const struct stacks_visitor *visitor, void *state, struct error *err);

#endif
