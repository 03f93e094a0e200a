/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What vCPUs read without the recorder's lock, and what is taken away once in a long while, as when another kernel
 * boots. Whoever takes it away shuts the guard, which waits until nobody reads. Readers never wait: where the guard is
 * shut, they do without.
 */
#ifndef UPTO_RECORDER_GUARD_H
#define UPTO_RECORDER_GUARD_H

#include <sched.h>
#include <stdbool.h>

struct guard {
	unsigned readers;
	bool shut;
};

static inline void guard_leave(struct guard *g)
{
	__atomic_sub_fetch(&g->readers, 1, __ATOMIC_RELEASE);
}

/* May it be read now? Then guard_leave() has to follow soon, without waiting for anything. */
static inline bool guard_enter(struct guard *g)
{
	__atomic_add_fetch(&g->readers, 1, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&g->shut, __ATOMIC_SEQ_CST))
		return true;
	guard_leave(g);
	return false;
}

/* One at a time. Afterwards nobody reads, until guard_open(). */
static inline void guard_shut(struct guard *g)
{
	__atomic_store_n(&g->shut, true, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&g->readers, __ATOMIC_SEQ_CST))
		sched_yield();
}

/* Who enters from now on sees what was done meanwhile. */
static inline void guard_open(struct guard *g)
{
	__atomic_store_n(&g->shut, false, __ATOMIC_SEQ_CST);
}

#endif
