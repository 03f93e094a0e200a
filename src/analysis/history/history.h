/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The history of a guest: who ran when, who waited for what and was woken up by whom, and what was done meanwhile, by
 * phase, initcall, probe, module, mount and program. One replay makes it; timeline, waits and why are made of it.
 */
#ifndef UPTO_ANALYSIS_HISTORY_H
#define UPTO_ANALYSIS_HISTORY_H

#include "replay/fold.h"
#include "trace/facts.h"
#include "trace/meta.h"

enum { HISTORY_NONE = UINT32_MAX, HISTORY_HOT = 3 };

/* What a thread waits for: by the innermost function on its stack that wait_kinds.c knows. */
enum wait_kind {
	WAIT_UNKNOWN,
	WAIT_TIMER,
	WAIT_DISK,
	WAIT_LOCK,
	WAIT_CHILD,
	WAIT_PEER,    /* another task: a pipe, a socket, a completion */
	WAIT_RCU,
	WAIT_WORK,    /* work that is handed over: work queues, async functions, initramfs */
	WAIT_DEVICE,
	WAIT_IDLE,    /* a thread that waits to be given something to do */
	WAIT_KINDS,
};

/* What a wake-up comes from. */
enum wake_context {
	WAKE_NONE,    /* it was not woken up: it was ready all the time, or never ran again */
	WAKE_TASK,
	WAKE_TIMER,   /* a timer that ran out */
	WAKE_DISK,    /* a request to a block device that is done */
	WAKE_RCU,     /* the end of a grace period */
	WAKE_DEVICE,  /* any other interrupt */
	WAKE_FORK,    /* it was made, and ready since: nothing is on its stack */
};

/* A stack of functions of the kernel, innermost first: `count` numbers from functions[first] on. */
struct history_stack {
	uint32_t first, count;
};

/*
 * A thread ran on a vCPU, within one span, as one program, with one name; or an interrupt came in it that took a
 * millisecond or more.
 */
struct slice {
	uint32_t thread;      /* number of the stack: a thread's, or behind those a vCPU's before its first switch */
	uint32_t cpu;
	uint32_t span;        /* the innermost that was under way in the thread; HISTORY_NONE */
	uint32_t away;        /* the absence that it ends; HISTORY_NONE: the thread ran right before, or never */
	/* it is an interrupt that took long: what of its functions did; HISTORY_NONE: it is none */
	uint32_t handler;
	uint64_t start_ns, end_ns, insns, halted_ns;
	/* where most time went, without callees; ns 0: no more */
	struct { uint32_t function; uint64_t ns; } hot[HISTORY_HOT];
};

/* A timer, or work that is to be done later, was set. */
struct timer_set {
	uint32_t function;    /* its own; HISTORY_NONE: there is none, or it is not known */
	uint32_t in;          /* the function that set it … */
	uint32_t by;          /* … and the thread; HISTORY_NONE: an interrupt did, or it is not known */
	uint64_t ns;
};

/* A thread was off the CPU. */
enum test_result { TEST_PASSED, TEST_FAILED, TEST_SKIPPED, TEST_RESULTS };

struct away {
	uint32_t thread;
	uint32_t span;        /* the innermost that was under way in the thread; HISTORY_NONE */
	uint64_t start_ns;
	/* it was ready from then on: asleep before; start_ns: it was never asleep. UINT64_MAX: not woken up any more */
	uint64_t wake_ns;
	uint64_t end_ns;      /* it ran again; UINT64_MAX: never */
	enum wait_kind kind;
	enum wake_context context;
	uint32_t function;    /* that it waited in, by which `kind` was told; HISTORY_NONE: none is known */
	uint32_t caller;      /* that called it; HISTORY_NONE */
	struct history_stack stack;
	/* of a LOCK: thread that had it when this one began to wait for it; HISTORY_NONE: not known */
	uint32_t holder;
	uint32_t waker;       /* thread that ran when it was woken up; HISTORY_NONE: not woken up */
	uint32_t waker_function; /* the function of the context: of a timer, of a driver */
	struct history_stack waker_stack;
	struct timer_set timer; /* that ended it, if the thread did not set that itself */
};

/* When it ended, and until when it was asleep; what never ended lasted to `until`, which is the end of the trace. */
static inline uint64_t away_end(const struct away *a, uint64_t until)
{
	return a->end_ns < until ? a->end_ns : until;
}

/* It was the thread's end: it waits for nothing. */
static inline bool away_is_end(const struct away *a)
{
	return a->end_ns == a->start_ns && a->wake_ns == UINT64_MAX;
}

static inline uint64_t away_asleep_until(const struct away *a, uint64_t until)
{
	return a->wake_ns < away_end(a, until) ? a->wake_ns : away_end(a, until);
}

/* Who queued work, and when. */
struct work_queued {
	uint64_t ns;
	uint32_t by;          /* thread; HISTORY_NONE: an interrupt did */
	uint32_t in;          /* the function that did */
	struct timer_set timer; /* delayed work's */
};

enum span_kind {
	SPAN_BOOT,
	SPAN_PHASE,
	SPAN_STAGE,
	SPAN_LEVEL,
	SPAN_INITCALL,
	SPAN_PROBE,
	SPAN_SMP,
	SPAN_INITRAMFS,
	SPAN_MODULE,
	SPAN_MODULE_INIT,
	SPAN_SIGNATURE,
	SPAN_RELOCATION,
	SPAN_MOUNT,
	SPAN_FIRMWARE_FILE,
	SPAN_EXEC,
	SPAN_WORK,
	SPAN_PROCESS,
	SPAN_SHUTDOWN,
	SPAN_CONSOLE,
	SPAN_UNIT,
	SPAN_TEST,      /* a case of KUnit, or a test that tells of itself in TAP; its result is an enum test_result */
	SPAN_TEST_PART, /* of a case with parameters: for each but the first; of a selftest: what it tells of itself */
	SPAN_RECORDED,  /* of a trace that is a part of another: what was asked for */
	SPAN_SUSPEND,   /* the guest suspended, and went on */
	SPAN_EVENT,     /* a record of a trace event or a probe: not a history's own (event_spans.h) */
	SPAN_KINDS,
};

/* Something was done: a function of the kernel ran, or a part of the boot. */
struct span_of {
	enum span_kind kind;
	uint32_t parent;      /* the span that it lies in; HISTORY_NONE: none */
	uint32_t thread;      /* HISTORY_NONE: not one thread's */
	uint32_t function;    /* of INITCALL: that was called; of others the function that it is; HISTORY_NONE */
	uint64_t start_ns, end_ns;
	uint64_t insns, cpu_ns; /* of the thread meanwhile; without one: of all */
	const char *name;
	uint32_t queued;      /* of WORK: number of how it was queued; HISTORY_NONE: that is not known */
	bool has_result;
	int64_t result;
};

/* A program said something to the host. */
struct host_word {
	uint64_t ns;
	uint32_t thread;
};

struct history {
	struct slice *slices;      /* by start */
	size_t n_slices;
	struct away *aways;        /* by start */
	size_t n_aways;
	struct span_of *spans;     /* by start; a parent before its children */
	size_t n_spans;
	struct work_queued *queued; /* by when the work was begun */
	size_t n_queued;
	uint32_t *functions;       /* of all stacks */
	size_t n_functions;
	/*
	 * of thread t: by_thread[first_slice[t]] … by_thread[first_slice[t + 1] - 1] are its slices' numbers, by time
	 */
	uint32_t *first_slice;
	uint32_t *by_thread;
	uint32_t *first_on_cpu;    /* the same of vCPU c: by_cpu[first_on_cpu[c]] … */
	uint32_t *by_cpu;
	unsigned n_cpus;
	size_t n_threads;          /* threads, then vCPUs */
	uint64_t end_ns;
	struct host_word *host_words; /* the last of each boot that has one */
	size_t n_host_words;
	struct spent costs[FOLD_KINDS]; /* of folded calls in all of the trace (fold.h), if it is kept */
	struct facts facts;
	struct history_memory *memory;
};

/* "timer" … */
const char *wait_kind_name(enum wait_kind kind);
/* "ok", "not ok", "skipped"; "" for others */
const char *test_result_name(int64_t result);
const char *span_kind_name(enum span_kind kind);
/* The number of a kind by its name; SPAN_KINDS: there is none. */
enum span_kind span_kind_find(const char *name);

/* Call history_deinit() also after an error. The reader, names and threads must outlive *ret. */
int history_make(const struct session *session, struct history *ret, struct error *err);
void history_deinit(struct history *h);

/*
 * Were wake-ups recorded? Without them nobody can tell who slept from who was ready. So they were, too, in a part of a
 * trace in which nobody was woken up, if the recorder knew where the kernel does that: META tells.
 */
bool history_tells_wakes(const struct history *h, const struct meta *meta);

/* The number of the slice of a thread that has the moment, or the last one before it; HISTORY_NONE: there is none. */
uint32_t history_slice(const struct history *h, uint32_t thread, uint64_t ns);

/*
 * The place in by_cpu of the last slice of a vCPU that began before the moment; first_on_cpu[cpu + 1]: there is none.
 * Those before it are down to first_on_cpu[cpu].
 */
uint32_t history_on_cpu(const struct history *h, unsigned cpu, uint64_t ns);

/* Who had the CPU while a span's thread did not, the idle ones apart. */
struct others {
	uint32_t threads[HISTORY_HOT]; /* that had it longest; HISTORY_NONE: no more */
	uint64_t ns;                   /* all of them together */
};

void history_others(const struct history *h, const struct threads *threads, const struct span_of *span,
		    struct others *ret);

/* For those who make one, or read it from a file: */

/* A history of which nothing is known yet. */
struct history history_empty(const struct session *session);

/* A copy of a text that lives as long as the history. */
const char *history_keep(struct history *h, const char *text, size_t len);

/* Number the slices, which are in the order of time, by thread. */
void history_index(struct history *h);

#endif
