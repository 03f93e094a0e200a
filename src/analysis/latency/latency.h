/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The longest times in which a vCPU could not do what was wanted of it, and who held it meanwhile.
 *
 * Calls tell when a lock is taken or given back, and when an interrupt begins and ends; `cli` and `sti` by themselves
 * are not in the trace. So times with interrupts or preemption off are at least so long: from the entry of what turns
 * them off to the entry of what turns them on. Where anything shows that they were on again in between, the time is
 * left out. What is not over where the trace or the boot ends lasts up to there: so of a guest that hangs.
 */
#ifndef UPTO_ANALYSIS_LATENCY_H
#define UPTO_ANALYSIS_LATENCY_H

#include "analysis/calls/intervals.h"
#include "analysis/history/history.h"

enum latency_kind {
	LATENCY_INTERRUPTS_OFF, /* by a lock that turns them off, or in an interrupt's handler */
	LATENCY_PREEMPTION_OFF, /* by a lock, or in an interrupt and the softirqs behind it */
	LATENCY_SOFTIRQ,        /* from where one was asked for to where softirqs are run on that vCPU */
	LATENCY_TIMER,          /* from when a vCPU's own timer was due to its interrupt */
	LATENCY_WAKEUP,         /* from where a thread that slept was woken up to where it runs */
	LATENCY_KINDS,
};

enum { LATENCY_STACK = 8, LATENCY_NO_CPU = UINT32_MAX };

struct latency {
	enum latency_kind kind;
	unsigned cpu;           /* LATENCY_NO_CPU: of a WAKEUP that goes on, where there are several */
	uint32_t thread;        /* that it began in; of WAKEUP: that was woken up. As in struct slice */
	uint64_t start_ns, end_ns;
	bool goes_on;           /* it is not over where the trace, or its boot, ends */
	uint64_t start_insns, end_insns; /* the vCPU's counter; of TIMER and WAKEUP, and of what goes on: not set */
	/* functions that it began in, innermost first; of TIMER: that were cut into; of WAKEUP: none */
	uint32_t stack[LATENCY_STACK];
	unsigned n_stack;
	uint32_t end;           /* the function that it ended in; HISTORY_NONE */
	uint32_t held_by;       /* the thread that ran longest on the vCPU meanwhile; HISTORY_NONE: none did … */
	/* … and where most of that time went, without callees; ns 0: no more */
	struct { uint32_t function; uint64_t ns; } hot[HISTORY_HOT];
};

struct latencies {
	struct latency *list;   /* by kind, the longest first */
	size_t count;
	/*
	 * the kernel's functions do not tell of this kind: they are inlined, or have no names; of TIMER, nothing tells
	 * when it is due
	 */
	bool lacks[LATENCY_KINDS];
};

/* "interrupts-off" … */
const char *latency_kind_name(enum latency_kind kind);

struct latency_options {
	bool kinds[LATENCY_KINDS]; /* those that are asked for */
	size_t each;            /* at most so many of each */
	struct span span;       /* that they begin in, and their vCPU … */
	const struct intervals *intervals; /* … and in one of these */
	const bool *processes, *threads; /* marks by number of thread: it has both, where they are not NULL */
};

/* The history is asked for wake-ups only: NULL without LATENCY_WAKEUP. Call latencies_deinit() also after an error. */
int latency_analyse(const struct session *session, const struct history *history, const struct latency_options *options,
		    struct latencies *ret, struct error *err);
void latencies_deinit(struct latencies *l);

/* Find who held the vCPU in each: the second replay of latency_analyse(). */
int latency_find_holders(const struct session *session, struct latency *list, size_t count, struct error *err);

#endif
