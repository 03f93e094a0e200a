/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the places of a program's probes are in a trace: functions, events, system calls, times. */
#ifndef UPTO_ANALYSIS_SCRIPT_PLACES_H
#define UPTO_ANALYSIS_SCRIPT_PLACES_H

#include "base/buf.h"
#include "script_run.h"

struct script_place {
	uint32_t handler, place;
};

/* Handlers by what they are at: those of number i are list[first[i]] … list[first[i + 1]]. */
struct script_index {
	uint32_t *first;
	struct script_place *list;
	size_t count; /* of numbers */
};

/* System calls by number; the last stands for those of other interfaces, which only raw_syscalls has. */
enum { SCRIPT_SYSCALLS = 1025, SCRIPT_OTHER_SYSCALL = SCRIPT_SYSCALLS - 1 };

struct script_timer {
	struct script_place at;
	uint64_t ns, next_ns;
	bool each_cpu;
};

struct script_places {
	struct script_index entries, returns; /* by function */
	struct script_index events;           /* by number of the event's format */
	struct script_index calls, results;   /* by number of the system call */
	struct script_index others;           /* by enum script_other */
	struct script_timer *timers;
	size_t n_timers;
	size_t probes; /* all of them, as bpftrace counts what it attaches */
	struct buf passed_over; /* lines: of what is nowhere, though other places of its handler are */
};

enum script_other { OTHER_BEGIN, OTHER_END, OTHER_FAULT, OTHER_SWITCH, OTHER_LOG, OTHER_SPAN, OTHER_WAIT, OTHERS };

static inline bool script_index_has(const struct script_index *x, size_t number)
{
	return number < x->count && x->first[number] < x->first[number + 1];
}

/* Is a handler at any number? */
static inline bool script_index_any(const struct script_index *x)
{
	return x->count && x->first[x->count];
}

/*
 * Does the kernel of the trace have the functions and tracepoints that the program names? What it does not have cannot
 * be recorded by a run into the past either. The error names the nearest.
 */
int script_places_check(const struct session *session, struct script *script, struct error *err);

/* Call script_places_deinit() also after an error. */
int script_places_find(const struct script_run_options *o, struct script_places *ret, struct error *err);
void script_places_deinit(struct script_places *p);

#endif
