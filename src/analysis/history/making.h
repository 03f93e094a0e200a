/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A history in the making: for history_make.c, and for spans.c, which knows what functions stand for. */
#ifndef UPTO_ANALYSIS_MAKING_H
#define UPTO_ANALYSIS_MAKING_H

#include "history.h"
#include "trace/texts.h"
#include "wait_kinds.h"

/* What a thread is in the middle of. */
struct open_thread {
	uint32_t span, away;      /* the innermost; HISTORY_NONE */
	uint32_t lost;            /* the absence that it was in where the last gap began; HISTORY_NONE */
	uint32_t unresolved;      /* the span that ended last, if its result has not been found; HISTORY_NONE */
	/* what security_move_mount() was told, up to the do_move_mount() behind it; NULL: nothing */
	const struct fact *mount;
	bool ran;                 /* it has, since what is recorded began, or the last gap ended */
};

/*
 * In a frame's data, besides the number of its span + 1: its fact has not been found. A fact stands at the block that
 * the recorder watches. If an interrupt comes right before that, it is as late as the interrupt's return.
 */
enum { FRAME_UNTOLD = 1u << 31 };

/* A slice under way. */
struct open_slice {
	struct slice slice;
	uint64_t *spent;           /* in it, by function */
	uint32_t *touched;         /* functions that have spent some */
	size_t n_touched;
};

/* What a vCPU is in. */
struct running {
	struct open_slice plain;
	struct open_slice interrupt; /* … that came in it */
	size_t depth;              /* of the stack, with the interrupt's frame; 0: there is none */
	uint64_t handler_ns;       /* how long interrupt.slice.handler ran */
	struct change *changes;    /* of the threads that it runs then, by their time … */
	size_t n_changes, next_change;
	uint64_t change_insns;     /* … and when the next comes, by the vCPU's count; UINT64_MAX: none does */
};

/* A thread that runs has another program or name from then on, or begins to exit: a slice ends. */
struct change {
	uint64_t ns, insns;
	uint32_t thread;
};

/* What a function stands for; numbers from ROLE_SPANS on are spans.c's. */
enum { ROLE_NONE, ROLE_WAKE, ROLE_TIMER, ROLE_QUEUE, ROLE_HOST, ROLE_SPANS };

/* What is to be done later, and what is to be done by others. */
struct handovers {
	struct timer_set *timers;
	size_t n_timers, timers_cap;
	/* address of delayed work, or of a function that one timer alone has → when that was set last, + 1 */
	struct map timer_of;
	struct map only_timer;     /* address of a function → of the timer that has it; 0: several have it */
	struct work_queued *queued;
	size_t n_queued, queued_cap;
	struct map queued_of;      /* address of work → the last time that it was queued + 1 */
};

/* A function that console_init() calls. */
struct callee {
	size_t depth;              /* of the stack, with it; 0: there is none */
	uint64_t start_ns;
	uint32_t function;
};

struct making {
	struct history *history;
	const struct reader *reader;
	struct wait_kinds kinds;
	uint8_t *roles;            /* by function */
	struct open_thread *open;  /* by thread */
	struct running *running;   /* by vCPU */
	unsigned n_cpus;
	unsigned consoles;         /* console_init() runs */
	struct callee callee;
	uint64_t *syscall_ns;      /* by boot: when a program first called the kernel; UINT64_MAX: none did */
	uint32_t dead;             /* number of the function in which a thread runs last */
	struct handovers handovers;
	uint64_t begins_ns;        /* when what is recorded began, or the last gap ended; 0: all is recorded so far */
	size_t next_fact;          /* that tells of a lock, or comes before one that does */
	bool lacks_calls;          /* calls were left out: facts alone may tell who was woken up */
	size_t next_wake;          /* the first fact that has not been asked for that */
	/* task_struct → number of the fact that tells of the last lock that it waited for + 1 */
	struct map lock_of;
	/* where the last gap ended behind which threads were found that were away; 0: none was */
	uint64_t found_ns;
	uint64_t lost_ns;          /* where the last gap began, of all vCPUs */
	uint64_t gap;              /* number of the last one */
	uint64_t away_ns;          /* when the last absence began, but for new threads' */
	bool moved;                /* aways are not in their order any more */
	struct map stacks;         /* hash of a stack → where it is in history->functions + 1 */
	struct texts texts;        /* only if some are TAP: */
	struct tap_line *tap;      /* in the order of time */
	size_t n_tap, tap_cap;
	size_t slices_cap, aways_cap, spans_cap, functions_cap, queued_cap, host_words_cap;
};

/* What was one thread's is another's. */
static inline void making_rename(uint32_t *thread, uint32_t before, uint32_t now)
{
	if (*thread == before)
		*thread = now;
}

/* slices.c. The slice that the vCPU is in ends now, and another one of that thread begins. */
/* From from_ns up to now nothing is known of the vCPU; it runs that thread now. */
void slices_gap(struct making *m, const struct stacks *s, unsigned cpu, uint32_t thread, uint64_t from_ns);
void slices_cut(struct making *m, const struct stacks *s, unsigned cpu, uint32_t thread, uint32_t span, uint32_t away);

void slices_begin(struct making *m, const struct threads *threads, size_t functions);
void slices_end(struct making *m);
void slices_spend(struct making *m, const struct stacks *s, const struct stack *stack, const struct spent *spent);
/* The top frame was entered, or is left. */
void slices_enter(struct making *m, const struct stacks *s, const struct stack *stack, const struct frame *frame);
void slices_leave(struct making *m, const struct stacks *s, const struct stack *stack, const struct frame *frame);
/* What was one thread's is another's. */
void slices_rename(struct running *r, uint32_t before, uint32_t now);

/* handovers.c. A function that sets a timer, or that queues work, was entered. */
void handovers_set(struct making *m, const struct stacks *s, const struct stack *stack, enum wake_context context);
void handovers_queue(struct making *m, const struct stacks *s, const struct stack *stack, enum wake_context context);
/* A timer's interrupt wakes up who is away: which one. */
void handovers_tell(const struct making *m, const struct stacks *s, const struct stack *stack, struct away *ret);
/* Work is begun: the number of how it was queued; HISTORY_NONE: that is not known. */
uint32_t handovers_begin(struct making *m, uint64_t work);
/* What was one thread's is another's. */
void handovers_rename(struct making *m, uint32_t before, uint32_t now);
void handovers_deinit(struct handovers *h);

/* What each function stands for, by number. The caller frees it. */
uint8_t *spans_roles(const struct names *names);

void spans_enter(struct making *m, struct stacks *s, struct stack *stack, struct frame *frame, uint8_t role);

/* Find now what could not be found when the frame, which is on top, was entered, or the result of what ended last. */
void spans_tell(struct making *m, struct stacks *s, struct stack *stack, struct frame *frame, uint8_t role);
void spans_tell_result(struct making *m, struct stacks *s, const struct stack *stack);
void spans_leave(struct making *m, struct stacks *s, struct stack *stack, const struct frame *frame, uint8_t role);

/* While console_init() runs: any function was entered, or left. */
void spans_enter_callee(struct making *m, struct stacks *s, struct stack *stack, struct frame *frame);
void spans_leave_callee(struct making *m, struct stacks *s, struct stack *stack, const struct frame *frame);

/* spans_add.c */
void spans_add(struct making *m, const struct span_of *span);
/* Add what ran in the slice, or, once there is history_index(), in all slices, to a span, as far as it lies in that. */
void spans_add_slice(const struct slice *x, struct span_of *span);
void spans_add_all(const struct history *h, struct span_of *span);

/* Arguments in a row, with spaces between; the history's. */
const char *spans_arguments(struct history *h, const struct fact *f);

/* kernel_tests.c: name the cases of KUnit, and tell their results. */
void kernel_tests_name(struct making *m, const struct boots *boots);

/* tap_tests.c: a test, or a part of one, and how it ended. The name is the history's. */
void spans_put_test(struct making *m, enum span_kind kind, const char *name, uint64_t from, uint64_t to,
		    enum test_result result);

/* Name what came within the loading of a module before its name was known. */
void spans_name_parts(struct history *h);

/* phases.c, units.c, recorded_spans.c */
void spans_put_boot(struct making *m, const struct stacks *s, size_t boot);
void spans_put_units(struct making *m);
void spans_put_recorded(struct making *m);

/* tap_tests.c */
struct tap_line;
/* "ok 3 - name # SKIP why": the name, and what became of it. False: it is no such line. */
bool tap_result(const char *line, char *ret_name, size_t size, enum test_result *ret);
/* Read the texts of system calls that are TAP. */
int tap_read(const struct reader *r, struct texts *ret, struct error *err);
/* A system call was made; if it writes TAP, that is kept … */
void tap_written(struct making *m, const struct stacks *s, const struct stack *stack);
/* … and becomes spans. */
void spans_put_tap(struct making *m);

/* After the replay: the boots, their phases, levels of initcalls and programs; each span's parent; spans in order. */
void spans_finish(struct making *m, const struct stacks *s);

#endif
