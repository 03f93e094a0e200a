/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What decided when something was done: the chain of who ran, and who was waited for, backward from that moment. Its
 * links tile the time without gap or overlap.
 *
 *   running          → itself
 *   ready            → who had the vCPU
 *   asleep           → who woke it up, as far back as the sleep began; then on with the sleeper
 *   woken by a timer, a disk, a device → that
 */
#ifndef UPTO_ANALYSIS_WHY_H
#define UPTO_ANALYSIS_WHY_H

#include "history.h"
#include "replay/walk.h"

enum link_kind {
	LINK_RUN,
	LINK_READY,
	LINK_TIMER,
	LINK_DISK,
	LINK_LOCK,
	LINK_CHILD,
	LINK_PEER,
	LINK_RCU,
	LINK_WORK,
	LINK_DEVICE,
	LINK_HALT,
	LINK_UNKNOWN,
	LINK_KINDS,
};

struct link {
	enum link_kind kind;
	uint32_t thread;      /* that ran, or waited */
	uint64_t start_ns, end_ns;
	uint32_t slice;       /* RUN, READY: what ran; HISTORY_NONE */
	uint32_t work;        /* TIMER, DEVICE: the span of the work that was queued at its end; HISTORY_NONE */
	/* the wait; RUN, READY, HALT: in which the thread before waited for this one; HISTORY_NONE: in none */
	uint32_t away;
	uint32_t cause;       /* its number */
};

/* Is `away` its own wait? */
static inline bool link_waits(const struct link *l)
{
	return l->kind != LINK_RUN && l->kind != LINK_READY && l->kind != LINK_HALT && l->away != HISTORY_NONE;
}

struct cause {
	uint64_t ns;
	enum link_kind kind;
	const char *name;     /* of what it was in: "initcall acpi_init", "console output", a program */
	const char *what;     /* "on CPU in memset", "asleep in msleep, called from foo_init" */
	struct history_stack stack; /* of a wait, innermost first; count 0: none */
	uint32_t links, longest; /* how many, and the number of the longest */
};

struct why {
	struct link *links;   /* in the order of time */
	size_t n_links;
	struct cause *causes; /* what holds most comes first */
	size_t n_causes;
	uint64_t from_ns, to_ns;
	struct why_memory *memory;
};

const char *link_kind_name(enum link_kind kind);

/* A moment, and the thread that it is told of. */
struct milestone {
	uint64_t ns;
	uint32_t thread;
	char name[160];
};

/*
 * Of the last boot in that time that has one: a panic; else the last of: the first process's program, a login prompt, a
 * request for power-off or restart. Of a part of what happened: within that part, else its end. False: no kernel came
 * so far.
 */
bool milestone_default(const struct history *h, const struct names *names, const struct threads *threads,
		       const struct meta *meta, const struct span *within, struct milestone *ret);

/*
 * Find a moment by what users call it: "init", "login", "poweroff", "panic"; a span's name (its end), a program's (its
 * start), or "log:TEXT", the first line of the kernel's log that has the text; the first that began in that time.
 * False: there is none.
 */
bool milestone_find(const struct history *h, const struct names *names, const struct threads *threads, const char *what,
		    const struct span *within, struct milestone *ret);

/*
 * A time, and whose deed it is that the trace tells of then, as that of a new program; else who ran then, on the first
 * vCPU that had something to do. False: the trace ends before, or nothing had run by then.
 */
bool milestone_at(const struct history *h, const struct threads *threads, uint64_t ns, struct milestone *ret);

/* Call why_deinit(). */
void why_make(const struct history *h, const struct names *names, const struct threads *threads, uint64_t from_ns,
	      const struct milestone *to, struct why *ret);
void why_deinit(struct why *w);

#endif
