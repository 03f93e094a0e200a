/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What replaying stacks keeps of its own: for the files stacks*.c, with what each has for the others, and for what
 * saves and restores it.
 */
#ifndef UPTO_REPLAY_STACKS_STATE_H
#define UPTO_REPLAY_STACKS_STATE_H

#include "stacks.h"

/*
 * Firmware, the kernel image's own loader, the kernel: each goes to the next for
 * good, and none is called by the one before.
 */
enum { STAGE_FIRMWARE = 1, STAGE_DECOMPRESSOR, STAGE_KERNEL };

/* A vCPU under way. */
struct lane {
	struct stack *stack;
	struct meter meter;
	size_t record; /* the next of the reader's task records to be looked at … */
	uint64_t record_insns; /* … not before this */
	uint64_t place; /* where control went last */
	int stage; /* 0: nothing ran yet */
	struct shapes *shapes; /* of its phrases, known by their places in its model; NULL: none was gone past */
	struct space_view view;
};

struct replay {
	struct stacks *stacks;
	const struct stacks_visitor *visitor;
	void *state;
	const struct reader *reader;
	const struct session *session;
	unsigned runs; /* so many were replayed */
	struct name_cache *cache;
	struct shapes *recording; /* one of those; NULL: none */
	bool finds; /* what threads are in the middle of where gaps end is on their stacks */
	struct lane *lanes;
	unsigned n_lanes;
	uint64_t gap; /* number of the gap that came last; 0: none */
	size_t next_boot; /* number of the boot that is to begin next */
	uint64_t task; /* that the event being replayed is of, and what it has mapped */
	struct space_view *view;
	uint32_t new_thread[2], return_trampolines[RETURN_TRAMPOLINES], switches; /* function numbers of arch.h's */
	uint32_t dead; /* function number of do_task_dead; UINT32_MAX: not known */
};

static inline void set_lane(struct lane *lane, uint64_t insns, uint64_t ns, uint64_t place)
{
	lane->meter.insns = insns;
	lane->meter.ns = ns;
	lane->place = place;
}

static inline void spend(struct replay *r, struct stack *stack, struct spent spent)
{
	stack->insns += spent.insns;
	stack->ns += spent.ns;
	if (r->visitor->spend)
		r->visitor->spend(r->state, r->stacks, stack, &spent);
}

/* Where control went last on the vCPU that runs the stack; 0: none does. A damaged index may have any number there. */
static inline uint64_t replay_last_place(const struct replay *r, const struct stack *stack)
{
	return stack->cpu >= 0 && (unsigned)stack->cpu < r->n_lanes ? r->lanes[stack->cpu].place : 0;
}

/* Time goes on. False: the visitor wants no more. */
static inline bool go_on(struct replay *r, uint64_t ns)
{
	struct stacks *s = r->stacks;

	if (__builtin_expect(s->stop, 0))
		return false;
	s->ns = ns;
	/* a damaged trace may have the last of all times */
	if (__builtin_expect(ns >= s->due_ns, 0) && r->visitor->due)
		r->visitor->due(r->state, s);
	return !s->stop;
}

/*
 * stacks_calls.c: replay events of one stack that runs all the time. Their times are made with the batch's time base.
 */
void replay_untimed(struct replay *r, struct lane *lane, const struct batch *batch, const struct event *events,
		    const struct event *end);
/* Likewise; they have their times. */
void replay_written(struct replay *r, struct lane *lane, const struct event *events, const struct event *end);
/* One of them, and also a return from an interrupt. */
void replay_plain(struct replay *r, struct stack *stack, const struct event *e);
/* The call leads to that address. */
void replay_push_call(struct replay *r, struct stack *stack, const struct event *call, uint64_t addr);
/*
 * Control is at that address now: in another function, or in the same one anew. If that is one of those that led here
 * by tail calls, the others have ended.
 */
void replay_jump(struct replay *r, struct stack *stack, uint64_t addr, enum event_kind kind);

/* stacks_entries.c: an interrupt or a system call, and what returns from one. */
void replay_enter_kernel(struct replay *r, struct stack *stack, const struct event *e);
/* The latter returns the stack that runs then. */
struct stack *replay_entry_return(struct replay *r, struct stack *stack, const struct event *e);

/*
 * stacks_foreign.c: a return, or one from an interrupt, that matches nothing on the stack that runs: does it switch to
 * another thread of what is no Linux? Then the event is replayed, on the stack that runs now. NULL: it does not.
 */
struct stack *replay_switch_foreign(struct replay *r, struct stack *stack, const struct event *e);
/* Another stage of the boot begins on the vCPU: threads of the one before are over. */
void replay_end_foreign(struct replay *r, struct lane *lane);

/*
 * stacks_tasks.c: the stack is about to run on that vCPU. If another one ran it, as where their gaps end at different
 * events, or in a damaged trace, that one has its own stack from now on.
 */
void replay_take_from_others(struct replay *r, struct stack *stack, unsigned cpu);
/* The task's stack at that time, or if it is not known, the vCPU's own. */
struct stack *replay_stack_of(struct stacks *s, uint64_t task, unsigned cpu, uint64_t ns);
/* Tasks that were made on the vCPU before the event; a clock tells that it has come so far. */
void replay_inherit_until(struct replay *r, struct lane *lane, unsigned cpu, uint64_t insns);
/* Those that were made on the vCPU up to there are not: their maker's stack is not known. */
void replay_pass_tasks(struct replay *r, struct lane *lane, unsigned cpu, uint64_t insns);
void replay_switch_task(struct replay *r, struct lane *lane, const struct event *e, unsigned cpu);
/* If the thread, which runs no more, has ended, nothing remains of its stack. */
bool replay_finish_dead(struct replay *r, struct stack *stack);

/* stacks_breaks.c: does the boot's next stage begin there? Then it has. */
bool replay_enter_stage(struct replay *r, struct lane *lane, uint64_t target);
/* The machine begins anew: whatever was under way is over. */
void replay_begin_boot(struct replay *r);
/* Gaps of all vCPUs that begin together end at different events: the first one of them ends all stacks. */
void replay_go_past_gap(struct replay *r, struct lane *lane, const struct event *e, unsigned cpu);

/* stacks_found.c: a gap of that number ends on the vCPU, as the first of those that begin together. */
void replay_find_stacks(struct replay *r, uint64_t gap, unsigned cpu);

/* stacks_phrases.c: replay the batch's events up to `end`, and go past its phrases. */
void replay_brief(struct replay *r, struct lane *lane, struct batch *batch, const struct event *end);

/* Everything as it was saved; -1: it is damaged. */
int stacks_restore(struct stacks *s, const struct checkpoint *from, struct error *err);

#endif
