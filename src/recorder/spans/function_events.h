/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When a condition on functions of the kernel holds, by the events of all vCPUs, each in its order: for the drain
 * thread.
 */
#ifndef UPTO_RECORDER_FUNCTION_EVENTS_H
#define UPTO_RECORDER_FUNCTION_EVENTS_H

#include "select/condition.h"
#include "trace/event.h"

enum { CONDITION_FUNCTIONS = 8, OPEN_MAX = 64 };

/* The functions of a condition: all of that name. */
struct functions {
	uint64_t addr[CONDITION_FUNCTIONS];
	unsigned count;
};

static inline bool functions_have(const struct functions *f, uint64_t addr)
{
	for (unsigned i = 0; i < f->count; i++)
		if (f->addr[i] == addr)
			return true;
	return false;
}

struct function_events {
	const struct condition *condition; /* the caller's, as are the functions */
	const struct functions *functions;
	struct {
		uint64_t slot, from;
	} open[OPEN_MAX];        /* EXIT: calls that have not returned */
	unsigned n_open;
	bool missed;             /* there were more, or one that was no call: when it ends is not seen */
};

/*
 * Does the condition, of kind ENTRY or EXIT, hold there? Each event is shown once, but for an arrival where one has
 * just led to.
 */
bool function_events_hold(struct function_events *f, const struct event *e);

#endif
