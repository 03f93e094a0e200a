/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Several visitors of the stacks hear one replay. Frames and stacks have data for one visitor each: of those that are
 * together, at most one may use a frame's `data`, one its `outermost`, and one a stack's `data`.
 */
#ifndef UPTO_REPLAY_TOGETHER_H
#define UPTO_REPLAY_TOGETHER_H

#include "stacks.h"

enum { TOGETHER_MAX = 4 };

struct together {
	size_t n;
	const struct stacks_visitor *visitors[TOGETHER_MAX];
	void *states[TOGETHER_MAX];
	uint64_t due_ns[TOGETHER_MAX]; /* when each wants to be told next */
};

/*
 * The visitor whose state is a struct together. Phrases are gone past if all of them take phrases.
 */
struct stacks_visitor together_visitor(const struct stacks_visitor *const *visitors, size_t n);

void together_init(struct together *t, const struct stacks_visitor *const *visitors, void *const *states, size_t n);

#endif
