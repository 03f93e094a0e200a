/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Puts the calls of a log into each other, thread by thread, as they come in the
 * order of their entries, and says when each begins and ends.
 *
 *   entry     0        10        20        30        40
 *   thread 1  a                                      |     a: local time 0-10 and 30-40
 *             |        b         ·         |               b: local time 10-20
 *   thread 2                     c         |               c: local time 20-30; thread 1 does not run
 *
 * A log has entries and durations in microseconds, and calls may be left out of it.
 * What follows from it:
 * - A call lies in the innermost call of its thread that is open when it is entered. A thread is a PID. An interrupt of
 * PID
 *   -1 is the thread's that had the last event on that CPU.
 * - Calls end in the order of their ends; of those that end together, what was entered last ends first. What is entered
 *   at that moment comes later, except a call of no duration whose caller is the function that ends.
 * - A call whose exit was not seen is open until another call shows that it is gone: from the innermost open call on
 * outward, its caller
 * is the function that such a call lies in, or it was called from the same function as that call. The same goes for a
 * call that ends
 * before the new one would, which rounding of times makes. A call of known end that has the new one in it is still
 * there.
 * - The time from one event (entry or end) to the next one on the same CPU is the local time of the innermost open call
 * of the thread
 * that had the first. So interrupts, callees and other threads are not in it, it is never negative, and all local times
 *   together are not more than the time that passed.
 * - Sub-time is what a call's direct callees took, and the interrupts that cut in. What is missing from both is the
 * time of other threads.
 *   Where calls of a damaged log overlap, sub-time is cut to what local time leaves of the duration.
 * - A call begins a tree of its own if it lies in no other; if it is an interrupt's, and what it lies in is not;
 *   or if it was called from another function than the one that it lies in (so an exception's handler), and no
 * filter can have left out that function (kfi_log_lacks_callers()). But who is called by what it lies in, is in its
 * tree.
 */
#ifndef UPTO_ANALYSIS_KD_NEST_H
#define UPTO_ANALYSIS_KD_NEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kfi/log.h"

enum {
	/* Calls without an exit pile up. This many open calls are looked at for one that shows them to be gone. */
	KD_NEST_LOOK_MAX = 256,
};

struct kd_frame {
	struct kfi_call call;
	uint64_t number;       /* 0, 1, 2 … in the order of entries */
	uint64_t end_ns;       /* UINT64_MAX: not known */
	uint64_t local_ns;     /* these are whole when it ends; of a call without an exit they mean nothing */
	uint64_t sub_ns;       /* with the local time not more than its duration */
	uint64_t called_ns;    /* durations of direct callees whose caller is this function, as kd has it */
	uint64_t tree;         /* trees are counted from 0 on */
	uint32_t depth;        /* in the tree; 0: the tree begins with it */
	bool cuts_in;          /* the tree began in a call of another one, or while one was open whose end is known */
	bool ended;
};

struct kd_nest;

struct kd_nest_user {
	/* `parent` is NULL if it lies in no other call. */
	void (*enter)(void *data, const struct kd_frame *frame, const struct kd_frame *parent);
	void (*leave)(void *data, const struct kd_frame *frame);
	void *data;
};

/* The log need not have calls yet, but its header must be whole when the first call is added. */
struct kd_nest *kd_nest_new(const struct kfi_log *log, struct kd_nest_user user);
void kd_nest_free(struct kd_nest *nest);

/* The next call, not earlier than the last one. */
void kd_nest_add(struct kd_nest *nest, const struct kfi_call *call);
/* End all calls that are open, at last those without an exit. */
void kd_nest_finish(struct kd_nest *nest);

#endif
