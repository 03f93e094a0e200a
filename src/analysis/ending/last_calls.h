/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The calls that a thread made last before a moment: what led to it, where it is a panic. */
#ifndef UPTO_ANALYSIS_LAST_CALLS_H
#define UPTO_ANALYSIS_LAST_CALLS_H

#include "replay/index.h"

enum { LAST_CALLS = 12 };

struct last_call {
	uint32_t function;
	uint32_t depth;        /* as many calls of its thread were under way when it was made */
	uint64_t start_ns;
	uint64_t end_ns;       /* UINT64_MAX: it goes on then */
};

struct last_calls {
	struct last_call list[LAST_CALLS]; /* in their order */
	unsigned count;
};

/*
 * Of the stack of that number (stacks.h), the calls that began before the moment. `hidden`: marks of functions that
 * have no row, nor has what is called in them; nor have interrupts. With the session's index only the end of what is
 * before the moment is replayed.
 */
int last_calls_find(const struct session *session, uint32_t stack, uint64_t before_ns, const bool *hidden,
		    struct last_calls *ret, struct error *err);

#endif
