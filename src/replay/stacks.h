/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replays a trace into call stacks. Each thread of the guest has one stack, from its
 * first instruction to its last, through system calls, interrupts and switches.
 *
 * A call pushes its return address into a stack slot, and the return reads it from
 * the same slot. So slots match calls and returns, whatever comes in between. System
 * calls and interrupts have frames of their own kinds, on top of the frames that they
 * interrupt.
 *
 * A function that was called and jumps to another one makes a tail call: the frame of
 * the other is above its own, and both are left by one return. Any other jump to
 * another function replaces the top frame: entry code, loaders, code without names.
 */
#ifndef UPTO_REPLAY_STACKS_H
#define UPTO_REPLAY_STACKS_H

#include "meter.h"
#include "session.h"
#include "thunk_calls.h"

enum frame_kind {
	FRAME_BASE,       /* where the thread began or was first seen: nothing returns from it */
	FRAME_CALL,
	FRAME_TAIL,       /* the frame below jumped to it: it has that one's slot and return address */
	FRAME_INTERRUPT,  /* interrupt or exception handler */
	FRAME_SYSCALL,
	FRAME_SIGNAL,     /* a signal's handler: user code that the kernel called */
};

/* How a frame was left. */
enum frame_end {
	FRAME_RETURNED,   /* by a return, its own or that of a function that it jumped to */
	FRAME_JUMPED,     /* its function went on to another one for good */
	FRAME_CUT,        /* its thread went on below it without a return: longjmp(), exec, an abandoned stack */
	FRAME_DIED,       /* its thread ended in it, or the machine began anew */
	FRAME_LOST,       /* events are not here: how it ended is not known */
};

/* "returned" … */
const char *frame_end_name(enum frame_end end);

/* One call in progress. */
struct frame {
	uint64_t slot;    /* stack address of its return address; 0: none */
	uint64_t from;    /* where it returns to; 0: not known */
	uint64_t addr;    /* the address that it was entered at */
	uint64_t entry_ns;      /* guest time when it was entered */
	uint64_t insns, ns;     /* the thread's own clocks when it was entered */
	uint32_t function;      /* number, see names.h */
	uint32_t data;          /* for the visitor */
	uint32_t role;          /* SYSCALL: enum syscall_role; INTERRUPT: the vector */
	enum frame_kind kind : 8;
	bool at_start;          /* it was entered at the function's first instruction, or that is not known */
	/* likewise, of one that was there before a gap: it does not count as entered, but may go on by a tail call */
	bool found_at_start;
	bool outermost;   /* for a visitor that asks whether its function is on the stack once (totals.h) */
};
static_assert(sizeof(struct frame) == 64, "a frame is a cache line's size");

/* "call" for those that begin a thread, too; "tail", "interrupt", "syscall", "signal" */
const char *frame_kind_name(enum frame_kind kind);

/* Is it left by a return? */
static inline bool frame_is_called(const struct frame *f)
{
	return f->kind == FRAME_CALL || f->kind == FRAME_TAIL;
}

/*
 * An address in the instruction that made the call, from the frame's kind and return address; 0: not known, as of tail
 * calls.
 */
static inline uint64_t frame_call_place(enum frame_kind kind, uint64_t from)
{
	return !from || kind == FRAME_TAIL ? 0 : kind == FRAME_CALL || kind == FRAME_SYSCALL ? from - 1 : from;
}

struct stack {
	struct frame *frames;   /* the outermost first */
	size_t depth, cap;
	uint64_t insns, ns;     /* the thread's own clocks: instructions and time that it ran since its start */
	/* number, see threads.h; THREAD_NONE: a vCPU before its first switch, or a thread of what is no Linux */
	long thread;
	bool began;             /* it has returned from something, or was first seen in the middle of something */
	/*
	 * it has had its first return that matches nothing, in a kernel without names: a new thread's to its beginning
	 */
	bool started;
	/* it was there before a gap, or the trace's begin: frames are missing below the first */
	bool behind_gap;
	uint64_t place;         /* where control is; of those that do not run: where it was left. May be in a thunk */
	struct thunk_calls thunk_calls; /* only where thunks are folded (names.h) */
	int cpu;                /* the vCPU that runs it; -1: none */
	void *data;             /* for the visitor */
};

/* Returns that matched no frame, by what they are taken for. */
struct unmatched {
	uint64_t returns;       /* all returns, for comparison */
	uint64_t new_thread;    /* the first return of a new thread */
	uint64_t firmware;      /* returns before the kernel runs: firmware also uses them as jumps */
	uint64_t gap;           /* returns of calls from before a gap */
	uint64_t elsewhere;     /* returns to a place that no frame has: taken for jumps */
	uint64_t abandoned;     /* frames that were left without a return: longjmp(), exec, abandoned stacks */
};

struct replay;

/* Events of one vCPU that come before any other vCPU's, and the state before them. */
struct stacks_run {
	const struct event *events;
	size_t n;
	unsigned cpu;
	uint64_t task;          /* task_struct that runs; 0: not known */
	uint64_t place;         /* where control went last; 0: not known */
	const struct meter *meter;
	const struct timebase *timebase; /* that the events' times are made with */
	struct name_cache *cache; /* the replay's own */
	/* the run is this whole batch, not completed (codec.h); NULL: all events and times are written */
	struct batch *batch;
	const struct replay *replay; /* for stacks_are_past() */
};

/* A phrase behind the call on top of the stack. */
struct stacks_phrase {
	const struct shape *shape; /* see shapes.h */
	uint64_t insns;         /* of the call's event */
	const struct timebase *timebase;
	struct spent spent;     /* from the call to its return */
	uint16_t folded;        /* bits by frame of the shape: what is not shown (fold.h) */
};

struct stacks;
struct shape;

struct stacks_visitor {
	/* All may be NULL. `state` is the caller's. Of a frame: when it is on the stack, on top. */
	void (*enter)(void *state, struct stacks *s, struct stack *stack, struct frame *frame);
	void (*leave)(void *state, struct stacks *s, struct stack *stack, const struct frame *frame);
	/* Time passed, in the top frame of the stack, or, if it is empty, in what has no frame yet. */
	void (*spend)(void *state, struct stacks *s, struct stack *stack, const struct spent *spent);
	/* The stack's deepest frames, that many, are about to be forgotten without being left. */
	void (*forget)(void *state, struct stacks *s, struct stack *stack, size_t n);
	/* What was on one stack is on the other, with its data: it became known whose it is. */
	void (*move)(void *state, struct stacks *s, const struct stack *from, const struct stack *to);
	/* The vCPU that runs the stack waits for an interrupt, or goes on. */
	void (*halt)(void *state, struct stacks *s, struct stack *stack, bool goes_on);
	/*
	 * Events of a vCPU are not here, from that time up to now, when it runs that stack: how many, the event GAP
	 * tells. All frames were left as lost.
	 */
	void (*gap)(void *state, struct stacks *s, const struct stack *stack, uint64_t from_ns);
	/*
	 * Where a gap ends, frames from before it have been found and entered, by no event: of a thread that has been
	 * off its vCPU since then.
	 */
	void (*found)(void *state, struct stacks *s, const struct stack *stack, uint64_t since_ns);
	/* The vCPU goes from one stack, all of which is still there, to the other; they may be the same. */
	void (*switched)(void *state, struct stacks *s, const struct stack *from, const struct stack *to, unsigned cpu);
	/* A run of one vCPU's events is about to be replayed. */
	void (*run)(void *state, struct stacks *s, const struct stacks_run *run);
	/*
	 * The next event is not earlier than stacks->due_ns, which this sets anew; first of all with 0. From a
	 * checkpoint it comes before anything else, at the checkpoint's time.
	 */
	void (*due)(void *state, struct stacks *s);
	/*
	 * Not NULL: runs may be batches as they come, and this be called instead of all that would be for what is in a
	 * phrase, the leave() of the call's own frame included.
	 */
	void (*phrase)(void *state, struct stacks *s, struct stack *stack, const struct stacks_phrase *p);
	/*
	 * NULL: always. May phrase() be called for that shape, behind the call on top of the stack? Else what is in it
	 * is told one by one.
	 */
	bool (*takes)(void *state, const struct stack *stack, struct shape *shape);
};

/* All stacks at a time, as stacks_save() wrote them. */
struct checkpoint {
	uint64_t ns;
	const void *data;
	size_t len;
};

enum { STACKS_FOREIGN = 64 }; /* for threads of what is no Linux */

struct stacks {
	const struct names *names;
	const struct threads *threads;
	/* one a thread, then one a vCPU for the time before its first switch, then STACKS_FOREIGN */
	struct stack *list;
	size_t count;
	struct unmatched unmatched;
	uint64_t ns, insns;     /* time of the event being replayed, and its vCPU's counter */
	enum frame_end end;     /* in the visitor's leave(): how the frame is left */
	const struct event *event; /* that is being replayed; NULL: frames are entered or left by something else */
	bool stop;              /* set by the visitor: that is enough */
	uint64_t due_ns;        /* set by the visitor, see there */
	struct replay *replay;  /* while it lasts */
};

/*
 * In the visitor's enter(): does an event enter the function, at its first instruction? None enters what was there
 * before, or a copy of it, as a new process has of its parent's.
 */
static inline bool frame_is_entered(const struct stacks *s, const struct frame *f)
{
	return f->at_start && s->event && (f->kind != FRAME_BASE || s->event->target == f->addr);
}

/*
 * The stack's number: a thread's, or behind those, a vCPU's. Threads of what is no Linux count as the vCPU's own, as
 * before its first switch.
 */
static inline uint32_t stacks_number(const struct stacks *s, const struct stack *stack)
{
	size_t number = (size_t)(stack - s->list);

	if (number >= s->count - STACKS_FOREIGN)
		number = s->threads->count + (stack->cpu < 0 ? 0 : (unsigned)stack->cpu);
	return (uint32_t)number;
}

/*
 * Replay all events up to `to_ns`, from the start or, if `from` is not NULL, from
 * there; the stacks are then as they were at that time. Call stacks_deinit() also
 * after an error.
 */
int stacks_replay(struct stacks *ret, const struct session *session, const struct checkpoint *from, uint64_t to_ns,
		  const struct stacks_visitor *visitor, void *state,
		  struct error *err);

/* All stacks as a checkpoint has them. Call stacks_deinit() also after an error. */
int stacks_at(struct stacks *ret, const struct session *session, const struct checkpoint *from, struct error *err);

/*
 * The function that a stack which runs is in: its top frame's. Without frames, as of a thread that is switched to
 * behind a gap, that where control is, or went last.
 */
uint32_t stacks_function(const struct stacks *s, const struct stack *stack);
/* The function at an address, as it is in the stack's thread now. */
uint32_t stacks_function_at(const struct stacks *s, const struct stack *stack, uint64_t addr);

/*
 * The stack of that task, or, where none is known, of what the vCPU runs. NULL: there is none. Its frames may be none.
 */
const struct stack *stacks_running(const struct stacks *s, uint64_t task, unsigned cpu, uint64_t ns);

/* In a visitor's run(): is it known of each vCPU what it did up to that time? One that is halted does nothing. */
bool stacks_are_past(const struct stacks_run *run, uint64_t ns);
/*
 * Likewise: is the vCPU halted? Then *ret_stack is the number of the stack that it runs, and what passed since
 * *ret_since_ns has not been told yet.
 */
bool stacks_is_halted(const struct stacks_run *run, unsigned cpu, size_t *ret_stack, uint64_t *ret_since_ns);

/* In visitor->due(): everything as it is before the next event. */
void stacks_save(const struct stacks *s, struct buf *out);
void stacks_deinit(struct stacks *s);

/*
 * Append what the thread is in the middle of, for a gap (trace/stack_records.h). `number` is that of the thread's
 * stack.
 */
void stacks_put(const struct stacks *s, size_t number, uint64_t gap, uint64_t since_ns, struct buf *out);

/* How many stacks there are in a replay of that. */
size_t stacks_count(const struct session *session);

#endif
