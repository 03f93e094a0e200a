/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guest's threads: who a task_struct is at a time. An address is used again
 * for later tasks, so that it takes both to tell.
 */
#ifndef UPTO_REPLAY_THREADS_H
#define UPTO_REPLAY_THREADS_H

#include "trace/reader.h"

struct thread {
	uint64_t task;
	int32_t pid, tgid, ppid;  /* as told last; ppid: the parent's tgid */
	bool kernel;
	bool seen;                /* it was there before it could be told of: start_ns is when it was seen */
	const char *comm, *exe;   /* as told last; the reader's */
	uint64_t start_ns;        /* it was woken for the first time */
	uint64_t end_ns;          /* it began to exit; UINT64_MAX: it was there to the end */
	uint32_t first_program, n_programs; /* that it ran, one after the other: at least one */
};

/*
 * What a thread ran between two execs: before its first exec, that is its parent's program, or a function of the
 * kernel's.
 */
struct program {
	uint32_t thread;          /* number */
	bool kernel;              /* it had no user memory then */
	const char *comm;         /* the thread's last name in that time */
	/* path; "": none, or not known; [kernel_init]: what process 1 is before its first exec */
	const char *exe;
	uint64_t start_ns, end_ns; /* as a thread's */
	uint64_t start_insns;     /* of the vCPU that it began on … */
	/* … which counts exactly what came before, where the time is some microseconds later */
	uint32_t start_cpu;
};

struct threads {
	struct thread *list;      /* in the order in which they came; the number of a thread is its place */
	size_t count, cap;
	uint32_t *by_task;        /* numbers, by (task, start_ns) */
	struct task_record *records; /* the reader's */
	uint32_t *records_by_task; /* numbers, by (task, ns) */
	uint32_t *thread_of_record; /* by number */
	size_t n_records;
	/*
	 * by number: the trace was made of these threads, or they are asked for; NULL: all. What frames others have
	 * means nothing
	 */
	bool *chosen;
	const struct boots *boots; /* the reader's; a boot's threads end with it */
	struct program *programs; /* those of one thread in a row, in their order; threads in theirs */
	size_t n_programs;
};

enum { THREAD_NONE = -1 };

/* When a call began, as far as it is the thread's: a new process has its parent's calls from before it. */
static inline uint64_t thread_time(const struct thread *t, uint64_t entry_ns)
{
	return entry_ns > t->start_ns ? entry_ns : t->start_ns;
}

void threads_init(struct threads *t, const struct reader *r);
void threads_deinit(struct threads *t);

/* What had been told last of a task_struct at that time, or NULL: who it was then. */
const struct task_record *threads_record(const struct threads *t, uint64_t task, uint64_t ns);

/* Number of the thread whose task_struct is or was last there at that time, or THREAD_NONE. */
long threads_find(const struct threads *t, uint64_t task, uint64_t ns);

/*
 * The thread of that number; NULL: none has it, as THREAD_NONE, and as numbers that stand for a vCPU before its first
 * switch.
 */
const struct thread *threads_at(const struct threads *t, long number);

/* Is it one of those that the trace is of? */
static inline bool threads_is_chosen(const struct threads *t, long number)
{
	return !t->chosen || (number >= 0 && t->chosen[number]);
}

/* The thread's name at that time; of NULL, which is what ran before there were threads: [boot]. */
const char *threads_comm(const struct threads *t, const struct thread *thread, uint64_t ns);

/* Does the shell's pattern fit a name that the thread had at any time? */
bool threads_has_name(const struct threads *t, const struct thread *thread, const char *pattern);

/* Number of the program that a thread ran at that time. */
uint32_t threads_program(const struct threads *t, long thread, uint64_t ns);

#endif
