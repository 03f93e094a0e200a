/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The moment at which a task's kernel stack was used farthest down. */
#ifndef UPTO_ANALYSIS_DEEPEST_H
#define UPTO_ANALYSIS_DEEPEST_H

#include "replay/stacks.h"

struct deepest {
	size_t stack;      /* number in struct stacks */
	uint64_t ns, slot; /* when a function was called, and where its return address was pushed */
	uint64_t bytes;    /* from the stack's top down to there */
	uint32_t function; /* that pushed it there */
	/* on that stack: without those of user code below, and without an interrupt's on a stack of its own */
	size_t frames;
};

/*
 * Find it among the stacks that tasks were switched on; others, as those for interrupts, are not looked at. `threads`:
 * marks by number, only theirs, or NULL. *ret has no frames if there is none.
 */
int deepest_analyse(const struct session *session, const bool *threads,
		    struct deepest *ret, struct error *err);

/*
 * The same of each thread, by its number; those without frames were never seen on a stack of their own. The caller
 * frees *ret.
 */
int deepest_of_each(const struct session *session, struct deepest **ret, struct error *err);

/* Stops a replay at the moment that a struct deepest, its state, tells. */
extern const struct stacks_visitor deepest_reach;

#endif
