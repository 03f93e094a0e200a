/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replays a trace into call stacks: each thread of the guest has one, from its
 * first instruction to its last, through system calls, interrupts and switches.
 *
 * A call's return address stands in a stack slot, and the return reads it from
 * there: slots match them, whatever lies between. Jumps to another function
 * replace the top frame. What the kernel's entry code pushes is a frame of its
 * own kind, so that interrupts stand on top of whatever they interrupt.
 */
#ifndef UPTO_REPLAY_STACKS_H
#define UPTO_REPLAY_STACKS_H

#include "meter.h"
#include "names.h"
#include "threads.h"

enum frame_kind {
	FRAME_BASE,       /* where the thread was found, or began: nothing returns from it */
	FRAME_CALL,
	FRAME_INTERRUPT,  /* interrupt or exception handler */
	FRAME_SYSCALL,
	FRAME_SIGNAL,     /* user code that the kernel went to of its own accord: a signal's handler */
};

/* One call in progress. */
struct frame {
	uint64_t slot;    /* where its return address stands; 0: nowhere */
	uint64_t from;    /* where it returns to; 0: not known */
	uint64_t addr;    /* that it was entered at */
	uint64_t entry_ns;      /* guest time when it was entered */
	uint64_t insns, ns;     /* the thread's own clocks then */
	uint32_t function;      /* number, see names.h */
	uint32_t data;          /* the visitor's */
	uint32_t nr;            /* SYSCALL: its number */
	enum frame_kind kind : 8;
	bool at_start;          /* it was entered at the function's first instruction, or where that is not known */
};
static_assert(sizeof(struct frame) == 64, "a frame is a cache line's size");

/* The instruction that a frame of that kind was entered from, of which its return address tells. */
static inline uint64_t frame_call_place(enum frame_kind kind, uint64_t from)
{
	return from && (kind == FRAME_CALL || kind == FRAME_SYSCALL) ? from - 1 : from;
}

struct stack {
	struct frame *frames;   /* the outermost first */
	size_t depth, cap;
	uint64_t insns, ns;     /* the thread's own clocks: what it ran since the start */
	long thread;            /* number, see threads.h; THREAD_NONE: a vCPU before its first switch */
	bool began;             /* it has returned from something, or been found under way */
	uint64_t place;         /* where control is; of those that do not run: where it was left */
	int cpu;                /* that runs it; -1: none */
	void *data;             /* the visitor's */
};

/* What a return that matched nothing was taken for. */
struct unmatched {
	uint64_t returns;       /* all returns, to see these in proportion */
	uint64_t new_thread;    /* a new thread's first */
	uint64_t firmware;      /* before the kernel: it uses returns as it likes */
	uint64_t elsewhere;     /* it went on where no frame says: taken for a jump */
	uint64_t abandoned;     /* frames that were left without a return: longjmp(), exec, stacks that were left */
};

/* Events of a vCPU that come before any other's, and how it stands before them. */
struct stacks_run {
	const struct event *events;
	size_t n;
	unsigned cpu;
	uint64_t task;          /* task_struct that runs; 0: not known */
	uint64_t place;         /* where control went last; 0: not known */
	const struct meter *meter;
	const struct timebase *timebase; /* of the events' times */
	struct name_cache *cache; /* the replay's own */
	struct batch *batch;    /* the run is all of it, as it comes (codec.h); NULL: all events and times are there */
};

/* What a call on top of the stack does up to its return. */
struct stacks_phrase {
	const struct shape *shape; /* see shapes.h */
	uint64_t insns;         /* of the call's event */
	const struct timebase *timebase;
	struct spent spent;     /* from the call to its return */
};

struct stacks;

struct stacks_visitor {
	/* All may be NULL. `state` is the caller's. Of a frame: when it is on the stack, on top. */
	void (*enter)(void *state, struct stacks *s, struct stack *stack, struct frame *frame);
	void (*leave)(void *state, struct stacks *s, struct stack *stack, const struct frame *frame);
	/* Time passed, in the top frame of the stack, or, if it is empty, in what has no frame yet. */
	void (*spend)(void *state, struct stacks *s, struct stack *stack, const struct spent *spent);
	/* The stack's deepest frames, that many, are about to be forgotten without being left. */
	void (*forget)(void *state, struct stacks *s, struct stack *stack, size_t n);
	/* What was on one stack is on the other, with its data: it became known whose it is. */
	void (*move)(void *state, const struct stack *from, const struct stack *to);
	/* A run of one vCPU's events is about to be replayed. */
	void (*run)(void *state, struct stacks *s, const struct stacks_run *run);
	/* The next event is not earlier than stacks->due_ns, which this sets anew; first of all with 0. */
	void (*due)(void *state, struct stacks *s);
	/*
	 * Not NULL: runs may be batches as they come, and this be called instead of all that would be for what is in a phrase,
	 * the leave() of the call's own frame included.
	 */
	void (*phrase)(void *state, struct stacks *s, struct stack *stack, const struct stacks_phrase *p);
};

/* All stacks at a time, as stacks_save() wrote them. */
struct checkpoint {
	uint64_t ns;
	const void *data;
	size_t len;
};

struct stacks {
	const struct names *names;
	const struct threads *threads;
	struct stack *list;     /* one a thread, then one a vCPU for the time before its first switch */
	size_t count;
	struct unmatched unmatched;
	uint64_t ns;            /* time of the event being replayed */
	bool stop;              /* set by the visitor: that is enough */
	uint64_t due_ns;        /* set by the visitor, see there */
	struct replay *replay;  /* while it lasts */
};

/*
 * Replay all events up to `to_ns`, from the start or, if `from` is not NULL, from
 * there; the stacks are then as they were at that time. Call stacks_deinit() also
 * after an error.
 */
int stacks_replay(struct stacks *ret, const struct reader *r, const struct names *names, const struct threads *threads,
		  const struct checkpoint *from, uint64_t to_ns, const struct stacks_visitor *visitor, void *state,
		  struct error *err);

/* All stacks as a checkpoint has them. Call stacks_deinit() also after an error. */
int stacks_at(struct stacks *ret, const struct reader *r, const struct names *names, const struct threads *threads,
	      const struct checkpoint *from, struct error *err);

/* In visitor->due(): everything as it is before the next event. */
void stacks_save(const struct stacks *s, struct buf *out);
void stacks_deinit(struct stacks *s);

#endif
