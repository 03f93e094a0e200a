/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's thunks (arch/x86_thunks.h) whose steps are not recorded, unless `record --thunks` asks for them:
 *
 *	steps                                       recorded as
 *	call thunk; call within it; return to g     call-indirect of g, from the call of the thunk
 *	jump thunk; call within it; return to g     jump-indirect to g, from the jump to the thunk
 *	jump return thunk; return                   return
 *
 * A thunk for a register may itself return by a return thunk.
 *
 * Code that calls an indirect thunk, or jumps to it, stores its site (struct live, `thunk`). Where the thunk leaves,
 * the event is put: so its counter is what it is with all steps, and the thunk's instructions are the caller's. What
 * cuts into a thunk takes the site away, and keeps it by the stack pointer that the thunk goes on with.
 */
#ifndef UPTO_RECORDER_THUNKS_H
#define UPTO_RECORDER_THUNKS_H

#include <stdint.h>

#include "arch/x86_thunks.h"
#include "base/map.h"

struct kernel;

struct thunk {
	uint64_t start, end; /* run-time addresses */
	enum x86_thunk kind;
};

/* All under the recorder's `lock`. */
struct thunks {
	struct thunk *list;  /* by address; of those whose steps are not recorded */
	size_t count, cap;
	struct map cut;      /* stack pointer → the site that was taken away there; 0: none */
	/* how many there are; read without the lock, since who took one away there is who comes back there */
	size_t n_cut;
};

/* Of a kernel that has been found. */
void thunks_find(struct thunks *t, const struct kernel *k);

/* Another kernel will come. */
void thunks_forget(struct thunks *t);

/* What cut into thunks is not known any more. */
void thunks_forget_cuts(struct thunks *t);

/* The thunk that the address lies in, or NULL. */
const struct thunk *thunks_at(const struct thunks *t, uint64_t addr);

static inline enum x86_thunk thunks_kind(const struct thunks *t, uint64_t addr)
{
	const struct thunk *thunk = thunks_at(t, addr);

	return thunk ? thunk->kind : X86_NO_THUNK;
}

#endif
