/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Verifies which task runs where: events about vCPUs and records of tasks must agree.
 * Faults are counted, and each kind of fault is reported once, with its first place.
 */
#ifndef UPTO_ANALYSIS_CHECK_RUNNING_H
#define UPTO_ANALYSIS_CHECK_RUNNING_H

#include "findings.h"
#include "replay/threads.h"

enum running_fault {
	FAULT_PREVIOUS,     /* a switch from a task that did not run there */
	FAULT_TWICE,        /* a switch to a task that runs on another vCPU */
	FAULT_UNKNOWN_TASK, /* a switch to a task without a record */
	FAULT_DEAD,         /* a switch to a task that has been switched out for the last time */
	FAULT_RESUMED,      /* a vCPU goes on that was not halted */
	FAULT_EARLY,        /* kernel code before the kernel */
	FAULT_GAP,          /* events are missing */
	FAULT_CLOCK,        /* under -icount: more or less time than instructions */
	RUNNING_FAULTS,
};

struct running {
	const struct reader *reader;
	const struct threads *threads;
	const struct boot *boot; /* that is under way */
	bool exact;             /* one vCPU, whose clock is a count of its instructions … */
	unsigned icount_shift;  /* … each of which takes 2^this ns */
	bool *dead;             /* by thread: it has been switched out for the last time */
	unsigned n_cpus;
	struct running_cpu {
		uint64_t events;    /* so far */
		uint64_t ns;        /* at the clock before */
		uint64_t place;     /* where the event before led to; 0: not known */
		uint64_t task;      /* 0: not known */
		uint64_t awake_ns;  /* not halted, so far */
		bool halted;
		bool clocked;       /* a clock came */
		bool dying;         /* its task will not be switched to again */
		/*
		 * when its task was switched to on another vCPU, which is right only if it is switched out here at the
		 * same time; 0: no
		 */
		uint64_t twice_ns;
	} *cpus;
	struct running_faults {
		uint64_t count;
		struct check_place first;
		uint64_t what[2];   /* numbers for the text of the first */
	} faults[RUNNING_FAULTS];
};

void running_init(struct running *r, const struct session *session);
void running_deinit(struct running *r);

/* Check the next event in the order of time. */
void running_add(struct running *r, unsigned cpu, const struct event *e);

/* The vCPU's task will not run again when it has been switched out. */
void running_dies(struct running *r, unsigned cpu);

/* Report the faults, when all events were added. */
void running_end(const struct running *r, struct check *c);

#endif
