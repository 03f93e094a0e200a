/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Outside the spans that were asked for the recorder waits. Then no event is kept, and only that is watched which
 * names, tasks and mappings need to be right in a span. When a span begins, QEMU is asked to forget all translated
 * code, and shows it anew.
 *
 * A recorded span may begin too early and end too late, but for the moment that QEMU takes to stop the other vCPUs:
 * `upto record` cuts the trace where the conditions held, once the guest has ended (analysis/thin/thin.h). It begins
 *
 *   for entry:FUNCTION of the kernel  there
 *   exec:NAME, log:TEXT               there
 *   exit:FUNCTION of the kernel       where the function is entered
 *   time:TIME                         a little before
 *   OBJECT:FUNCTION                   when a module of that name is loaded, or a file of that name is mapped
 *   others                            once the kernel is known, since only the whole trace can tell what they are
 *
 * A span that comes after another one begins with the end of that for exit:FUNCTION, whose call may be under way, and
 * for what only the whole trace can tell. And how often something happened (#N) is counted here only for the first two.
 * With a time before the start, all is recorded meanwhile, and forgotten when it is old (hold.h), behind each span anew
 * (flight.h).
 */
#ifndef UPTO_RECORDER_WAITING_H
#define UPTO_RECORDER_WAITING_H

#include "recorder/recorder.h"

/* What is watched in a block. */
enum watching {
	WATCH_EVENTS,  /* all that is recorded */
	WATCH_COUNTER, /* what makes the counter right, and: */
	WATCH_STATE,   /* what has to be known in any case */
};

/* Words of the record EVENT_GAP behind its first. */
enum waiting_mark {
	MARK_NS,
	MARK_PLACE, /* where control is; 0: not known */
	MARK_KIND,
	MARK_SPAN,  /* BEGINS: its number, from 1 on */
	MARK_WORDS,
};

enum mark_kind {
	MARK_BEGINS, /* whoever waits, or did, puts it into each ring where a span begins … */
	MARK_ENDS,   /* … and where it ends */
	MARK_STARTS, /* a flight recorder's: the start condition holds, or may soon … */
	MARK_STOPS,  /* … or the stop condition */
};

/*
 * Keys snapshot (the guest goes on from one), start, stop, every; before: nanoseconds before the start that are wanted,
 * too. Or of so many spans, one after the other: spans, start.1, … (condition_key()). Sets recorder.waits.
 */
int waiting_init(const struct meta *config, struct error *err);

/* In translation, under `lock`. The kernel was found: which functions are meant. */
void waiting_found(const struct kernel *k);
/* Under `lock`. Another kernel will come. */
void waiting_forget(void);

/*
 * In translation, under `lock`: is the span to begin at the first instruction of that function? Then watch_awaited() is
 * called there.
 */
bool waiting_for_entry(uint64_t addr);

/*
 * Likewise: the guest goes on from a snapshot, and what is there is to be read where this block begins
 * (watch_snapshot()). Nothing is recorded before. And: may a vCPU have stood in the middle of something in the
 * snapshot, which has not executed since? Then watch_first() is called at each block's start.
 */
bool waiting_for_snapshot(void);

/* Is what a snapshot holds still to be read? Under `lock`. */
bool waiting_snapshot(void);

/*
 * Before a block is translated, not under `lock`: has the monitor loaded a snapshot meanwhile? QEMU forgets all code
 * then, so that no vCPU has executed since. What was recorded ends, and another boot begins, in the middle.
 */
void waiting_snapshot_loaded(void);

bool waiting_for_vcpus(void);

/*
 * Likewise, in a block from `addr` to `end`: of a function that control only runs into behind the block's first
 * instruction? In the middle of a block no clock can be read. So watch_awaited_ahead() is called at the block's start,
 * and watch_ran_into() at the function's.
 */
bool waiting_for_inner(uint64_t addr, uint64_t end);

/* In translation: is the clock to be looked at wherever control is? */
bool waiting_for_time(void);

/*
 * In translation, under `lock`: what to watch in a block. `hook`: that of the function which begins with it, or NULL.
 */
enum watching waiting_watches(uint64_t addr, uint64_t end, const struct hook *hook);

/* In a vCPU's thread. What is read there may begin or end a span: a program runs, a fact, a module or a mapped file. */
bool waiting_exec(struct vcpu *v, const char *comm, const char *exe, bool renamed); /* true: it has begun one */
/* false: it is outside the spans, not to be told */
bool waiting_fact(struct vcpu *v, const struct fact *fact, bool *ret_starts);
void waiting_object(struct vcpu *v, const char *path);

/* From any thread: for stats.waits. */
unsigned waiting_state(void);

/* In a vCPU's thread between two blocks: what is due, or whose time has come. */
void waiting_look(struct vcpu *v);

/* QEMU exits: no span begins or ends any more. */
void waiting_finish(void);

#endif
