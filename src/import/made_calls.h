/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls of threads on CPUs, put into a made trace: begins and ends in the order of time of each CPU. What runs outside
 * of all calls is one function, which lies below all others on each stack.
 */
#ifndef UPTO_IMPORT_MADE_CALLS_H
#define UPTO_IMPORT_MADE_CALLS_H

#include "made_trace.h"

/* A function at its place in the trace. Functions do not overlap. */
struct made_function {
	uint64_t addr;
	uint64_t size; /* at least 1 */
};

struct made_calls;

/* `outside` is in the trace's functions. */
struct made_calls *made_calls_new(struct made_trace *m, struct made_function outside);
void made_calls_free(struct made_calls *c);

/* Its number; the first is 0. It is told to the trace when it first runs. The name may be anything. */
uint32_t made_calls_add_thread(struct made_calls *c, int32_t pid, int32_t tgid, const char *name);

/* What made it, before it first runs: a thread, whose program it has; `same_process`: whose process it is of, too. */
void made_calls_set_maker(struct made_calls *c, uint32_t thread, uint32_t maker, bool same_process);
/* It was there before, before it first runs: as struct made_task. `exe` may be NULL. */
void made_calls_set_there(struct made_calls *c, uint32_t thread, int32_t tgid, int32_t ppid, bool user,
			  const char *exe);
/* It runs there, and has a program, which is not known. */
void made_calls_set_user(struct made_calls *c, unsigned cpu, uint32_t thread, uint64_t ns);

/* It has that name from then on, as that CPU tells. */
void made_calls_rename(struct made_calls *c, unsigned cpu, uint32_t thread, const char *name, uint64_t ns);
/* It runs there, and executes a new program, or ends, at that time. */
void made_calls_exec(struct made_calls *c, unsigned cpu, uint32_t thread, const char *name, const char *exe,
		     uint64_t ns);
void made_calls_exit(struct made_calls *c, unsigned cpu, uint32_t thread, uint64_t ns);

enum { MADE_NOBODY = UINT32_MAX };

/* From then on that thread runs there, where it was left; MADE_NOBODY: the CPU is halted. */
void made_calls_switch(struct made_calls *c, unsigned cpu, uint32_t thread, uint64_t ns);
/* Who runs there. */
uint32_t made_calls_running(const struct made_calls *c, unsigned cpu);

/* Of the thread that runs there. A time that is before the CPU's last event is taken for that event's. */
void made_calls_enter(struct made_calls *c, unsigned cpu, struct made_function f, uint64_t ns);
/* The innermost call ends. There is one. */
void made_calls_leave(struct made_calls *c, unsigned cpu, uint64_t ns);

/* So many events of it are missing before that moment: no call of it is known to be open any more. */
void made_calls_lose(struct made_calls *c, unsigned cpu, uint64_t ns, uint64_t events);

/* The calls of a thread that have not ended, and its function number `i` of them, counted from the outermost. */
size_t made_calls_depth(const struct made_calls *c, uint32_t thread);
uint64_t made_calls_at(const struct made_calls *c, uint32_t thread, size_t i);

#endif
