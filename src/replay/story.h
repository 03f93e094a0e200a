/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tells what happened in a trace as one stream in the order of time: calls and how they ended, switches, halts, and
 * what the recorder read beside them. Several listeners may hear one story, each with data of its own: calls and
 * threads have numbers to keep it by.
 *
 * What is added up over all calls (top, tree) does not need a story: it watches the stacks themselves (stacks.h), which
 * is faster.
 */
#ifndef UPTO_REPLAY_STORY_H
#define UPTO_REPLAY_STORY_H

#include "stacks.h"
#include "trace/facts.h"

enum story_kind {
	STORY_OPEN,    /* at the begin: a call that is in progress already; each thread's outermost first */
	STORY_ENTER,   /* the frame is on the stack */
	STORY_LEAVE,   /* the frame is still on the stack */
	STORY_SWITCH,  /* a vCPU goes from a stack to another, or the same */
	STORY_HALT,    /* a vCPU waits for an interrupt, until STORY_RESUME or whatever else it does next */
	STORY_RESUME,
	STORY_FACT,    /* a wake-up, a log line, a trace event …: told right behind what happened up to that time */
	STORY_TASK,    /* a task began, changed or ended; likewise */
	STORY_CODE,    /* a module was loaded, a file mapped, memory with code freed; likewise */
	STORY_END,     /* at the trace's end: a call that is in progress still; each thread's innermost first */
	STORY_KINDS,
};

enum { STORY_NO_CALL = 0 };

struct story_moment {
	enum story_kind kind;
	unsigned cpu;                /* not of OPEN and END */
	uint64_t ns, insns;          /* guest time, and the vCPU's counter */
	struct stacks *stacks;       /* a listener may set its `stop` */
	/*
	 * OPEN, ENTER, LEAVE, END: that has the frame; SWITCH: that is left; HALT, RESUME: that runs; FACT, of a trace
	 * event: of the thread that came by it, or NULL
	 */
	const struct stack *stack;
	const struct frame *frame;   /* OPEN, ENTER, LEAVE, END */
	size_t depth;                /* … frames below it */
	/* … numbers of its call and of the frame's below, from 1 on; a number is used again once its call was left */
	uint32_t call, caller;
	uint32_t thread;             /* of the stack: a number that stays, from 0 on */
	enum frame_end end;          /* LEAVE: how */
	/* ENTER of a system call: its number and arguments; LEAVE: its result. NULL: not known */
	const uint64_t *args;
	const struct stack *next;    /* SWITCH */
	const struct fact *fact;
	const struct task_record *task;
	const struct code_record *code;
};

struct story_listener {
	void (*hear)(void *state, const struct story_moment *m);
	uint32_t kinds;              /* bits 1 << STORY_…: only these are told */
	/*
	 * Not NULL: told at its own wish. The next event is not earlier than the time that it returned last; first of
	 * all at the begin.
	 */
	uint64_t (*due)(void *state, struct stacks *s);
	/*
	 * Not NULL: a stack's deepest frames, that many, are about to be forgotten: how their calls end will not be
	 * told, and all others' depths are less by that from here on.
	 */
	void (*forget)(void *state, struct stacks *s, const struct stack *stack, size_t n);
	/*
	 * Not NULL: a stack ran that up to now. Behind the part's end nothing but this is told, up to where it is
	 * known of each vCPU what it did before that end.
	 */
	void (*spend)(void *state, const struct stacks *s, const struct stack *stack, const struct spent *spent);
};

/* The numbers of a thread and a call, as in a moment; in due(). */
static inline uint32_t story_thread(const struct stack *stack)
{
	return (uint32_t)((uintptr_t)stack->data - 1);
}

static inline uint32_t story_call(const struct frame *frame)
{
	return frame->data;
}

struct story_part {
	const struct checkpoint *from; /* NULL: the trace's begin */
	uint64_t to_ns;
};

/*
 * Tell the story from there up to that time; `states` has one for each listener. Facts are told only if `facts` is not
 * NULL. Returns 0 if it was told to the end, 1 if a listener stopped it.
 */
int story_tell(const struct session *session, const struct story_part *part, const struct facts *facts,
	       const struct story_listener *listeners, void **states, size_t n, struct error *err);

#endif
