/* SPDX-License-Identifier: MIT */
/*
 * What the compiler calls at each function's begin and end. A record is reserved by one instruction, which no signal
 * can cut in two, and is there once its ticks are not 0: so a signal handler's own calls take the records behind it,
 * and whoever reads the ring of a program that was killed finds each record whole.
 */
#include "upto.h"

#include "ring.h"

#include <errno.h>
#include <signal.h>

enum { FILLINGS = 4 };

/*
 * Where on the stack the thread is within something here; 0: it is not. A signal's handler may jump out of it, never to
 * come back: that it has is known by this.
 */
static __thread struct calls_ring *ring __attribute__((tls_model("initial-exec")));
static __thread uint64_t busy __attribute__((tls_model("initial-exec")));   /* nothing is recorded */
static __thread uint64_t steers __attribute__((tls_model("initial-exec"))); /* steering.c is asked */
/* put_at(), several times where handlers have come meanwhile */
static __thread struct {
	uint64_t frame;
	const struct calls_record *record; /* NULL: it is not known yet which */
} filling[FILLINGS] __attribute__((tls_model("initial-exec")));
static __thread unsigned n_filling __attribute__((tls_model("initial-exec")));
static __thread uint64_t whole __attribute__((tls_model("initial-exec"))); /* records before that one are filled in */
static __thread unsigned run __attribute__((tls_model("initial-exec")));   /* of the thread's last event */

HIDDEN struct shared shared;

#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define HERE ((uint64_t)(uintptr_t)__builtin_frame_address(0))
/* Signals' handlers see what is before it done. */
#define IN_ORDER() __atomic_signal_fence(__ATOMIC_SEQ_CST)

/* The record's number; signal handlers that run meanwhile get others. */
static inline uint64_t reserve(struct calls_ring *r)
{
#ifdef __x86_64__
	uint64_t n = 1;

	__asm__ volatile("xaddq %0, %1" : "+r"(n), "+m"(r->reserved) : : "memory", "cc");
	return n;
#else
	return __atomic_fetch_add(&r->reserved, 1, __ATOMIC_RELAXED);
#endif
}

/*
 * Reserve a record, in which `frame` stands from the very begin on: an address on the stack of who fills it in. It goes
 * there before the record is reserved. A handler that comes in between has that record instead, and the frame is lost,
 * or goes to a call of its own, which has ended.
 */
static inline struct calls_record *begin_record(struct calls_ring *r, uint64_t frame)
{
	__atomic_store_n(&r->record[r->reserved & shared.mask].stack, frame, __ATOMIC_RELAXED);
	IN_ORDER();
	return &r->record[reserve(r) & shared.mask];
}

/* `stack` is not where this is done. */
static __attribute__((noinline)) void put_at(struct calls_ring *r, uint64_t function, uint64_t stack, uint64_t ticks)
{
	unsigned at = n_filling;
	struct calls_record *to;

	if (at < FILLINGS) {
		filling[at].frame = HERE;
		filling[at].record = NULL;
	}
	n_filling = at + 1;
	IN_ORDER();
	to = begin_record(r, HERE);
	if (at < FILLINGS)
		filling[at].record = to;
	IN_ORDER();
	to->function = function;
	to->stack = stack;
	__atomic_store_n(&to->ticks, ticks, __ATOMIC_RELEASE);
	IN_ORDER();
	n_filling = at;
}

static inline void put(struct calls_ring *r, uint64_t function, uint64_t stack, uint64_t (*ticks)(void))
{
	struct calls_record *to = begin_record(r, stack);

	to->function = function;
	to->stack = stack;
	__atomic_store_n(&to->ticks, ticks(), __ATOMIC_RELEASE);
}

/* Handlers may have a stack of their own. */
static int is_on(const stack_t *s, uint64_t address)
{
	uint64_t from = (uintptr_t)s->ss_sp;

	return !(s->ss_flags & SS_DISABLE) && address > from && address <= from + s->ss_size;
}

/* The stack pointer goes to `to`: does what has a frame there end? */
static int ends(uint64_t frame, uint64_t to)
{
	stack_t other = { .ss_flags = SS_DISABLE };
	int is_other;

	sigaltstack(NULL, &other);
	is_other = is_on(&other, frame);
	return is_other == is_on(&other, to) ? frame < to : is_other;
}

static uint64_t frame_of(const struct calls_record *record)
{
	for (unsigned i = 0; i < n_filling && i < FILLINGS; i++)
		if (filling[i].record == record)
			return filling[i].frame;
	return record->stack;
}

/*
 * The stack pointer goes to `to`: records that are being filled in below will never be, and nothing behind them would
 * be written. Each becomes one of a jump that leaves no call.
 */
static void mend(struct calls_ring *r, uint64_t to)
{
	uint64_t n = __atomic_load_n(&r->taking, __ATOMIC_ACQUIRE), end = r->reserved, first = end;

	for (n = n > whole ? n : whole; n < end; n++) {
		struct calls_record *record = &r->record[n & shared.mask];

		/* … or it was filled in, and is being taken */
		if (__atomic_load_n(&record->ticks, __ATOMIC_ACQUIRE) ||
		    n < __atomic_load_n(&r->taking, __ATOMIC_ACQUIRE))
			continue;
		if (ends(frame_of(record), to)) {
			record->function = CALLS_RECORD_EXIT;
			record->stack = CALLS_RECORD_FRAME;
			__atomic_store_n(&record->ticks, ticks_now(), __ATOMIC_RELEASE);
		} else if (n < first) {
			first = n;
		}
	}
	whole = first;
}

/* The stack pointer goes to `to`, maybe out of a handler that came when this thread was in here. */
static void end_all(struct calls_ring *r, uint64_t to)
{
	if (r)
		mend(r, to);
	while (n_filling && (n_filling > FILLINGS || ends(filling[n_filling - 1].frame, to)))
		n_filling--;
	if (steers && ends(steers, to))
		steers = 0;
	if (busy && ends(busy, to))
		busy = 0;
}

static struct calls_ring *first_event(void)
{
	struct calls_ring *r;

	if (busy)
		return NULL;
	busy = HERE;
	IN_ORDER();
	r = ring_new();
	whole = r ? r->reserved : 0;
	ring = r;
	IN_ORDER();
	busy = 0;
	return r;
}

/* The ring is full: 0: an event is lost. What had a frame below `to` has ended. */
static int wait_for_room(struct calls_ring *r, uint64_t number, uint64_t to)
{
	uint64_t was = busy;
	int room;

	busy = was ? was : HERE;
	IN_ORDER();
	/* a handler was left in a way that is not seen */
	mend(r, to);
	room = ring_wait(r, number);
	IN_ORDER();
	busy = was;
	return room;
}

/* Calls that have ended since recording was stopped are those whose frames are below this one. */
static void note_run(struct calls_ring *r, uint64_t function, uint64_t stack)
{
	uint64_t frame = stack + CALLS_HOOK + !(function & CALLS_RECORD_EXIT);
	unsigned now = __atomic_load_n(&shared.run, __ATOMIC_RELAXED);

	if (run != now)
		put_at(r, CALLS_RECORD_EXIT, frame | CALLS_RECORD_FRAME, ticks_now());
	run = now;
}

void event_put(uint64_t function, uint64_t stack, uint64_t ticks)
{
	struct calls_ring *r = ring ? ring : first_event();

	if (r)
		note_run(r, function, stack);
	if (r && (r->reserved < __atomic_load_n(&r->limit, __ATOMIC_ACQUIRE) || wait_for_room(r, r->reserved, HERE)))
		put_at(r, function, stack, ticks);
}

/* Handlers of signals that come in between have nothing recorded, which is counted: 0. */
static int steer(uint64_t function, uint64_t stack)
{
	uint64_t ticks = ticks_now();

	if (busy)
		return 0;
	if (steers) {
		if (ring)
			ring_lose(ring);
		return 0;
	}
	steers = HERE;
	IN_ORDER();
	/* a jump in a thread that has recorded nothing leaves nothing */
	if (steering_takes(function, stack, ticks) && (ring || function != CALLS_RECORD_EXIT))
		event_put(function, stack, ticks);
	IN_ORDER();
	steers = 0;
	return 1;
}

static int record_asking(uint64_t function, uint64_t stack)
{
	uint64_t below = function == CALLS_RECORD_EXIT ? HERE : stack + 1;
	struct calls_ring *r;

	if (shared.steered)
		return steer(function, stack);
	r = ring ? ring : first_event();
	if (r)
		note_run(r, function, stack);
	if (!r ||
	    (r->reserved >= __atomic_load_n(&r->limit, __ATOMIC_ACQUIRE) && !wait_for_room(r, r->reserved, below)))
		return 0;
	if (function == CALLS_RECORD_EXIT)
		put_at(r, function, stack, ticks_now());
	else
		put(r, function, stack, ticks_now);
	return 1;
}

/*
 * What happens seldom. It is apart so that record() needs no room on the stack for calls, which would cost a third. The
 * program may look at its errno behind any call.
 */
static __attribute__((noinline, cold)) int record_slowly(uint64_t function, uint64_t stack)
{
	int error = errno, done = record_asking(function, stack);

	errno = error;
	return done;
}

static int has_room(const struct calls_ring *r)
{
	return !__atomic_load_n(&shared.slow, __ATOMIC_RELAXED) &&
	       r->reserved < __atomic_load_n(&r->limit, __ATOMIC_ACQUIRE);
}

static inline __attribute__((always_inline)) void record(uint64_t function, uint64_t stack)
{
	struct calls_ring *r;

	if (UNLIKELY(!shared.armed))
		return;
	r = ring;
	if (UNLIKELY(!r || __atomic_load_n(&shared.slow, __ATOMIC_RELAXED) ||
		     r->reserved >= __atomic_load_n(&r->limit, __ATOMIC_ACQUIRE)))
		record_slowly(function, stack);
	else
		put(r, function, stack, ticks_of_cpu);
}

int event_quick(uint64_t function, uint64_t stack)
{
	struct calls_ring *r = ring;

	if (!shared.armed)
		return EVENT_NONE;
	if (!r || __atomic_load_n(&shared.slow, __ATOMIC_RELAXED) ||
	    r->reserved >= __atomic_load_n(&r->limit, __ATOMIC_ACQUIRE))
		return EVENT_SLOW;
	put(r, function, stack, ticks_of_cpu);
	return EVENT_DONE;
}

int event(uint64_t function, uint64_t stack)
{
	return shared.armed ? record_slowly(function, stack) : 0;
}

void __cyg_profile_func_enter(void *function, void *site)
{
	(void)site;
	record((uintptr_t)function, (uintptr_t)__builtin_frame_address(0));
}

EXPORTED void __cyg_profile_func_exit(void *function, void *site)
{
	(void)site;
	record((uintptr_t)function | CALLS_RECORD_EXIT, (uintptr_t)__builtin_frame_address(0));
}

void jump_put(uint64_t stack)
{
	struct calls_ring *r = ring;

	end_all(r, stack);
	/* a thread that has recorded nothing leaves nothing */
	if (!shared.armed || (!r && !shared.steered))
		return;
	if (r && has_room(r))
		put_at(r, CALLS_RECORD_EXIT, stack, ticks_of_cpu());
	else
		record_slowly(CALLS_RECORD_EXIT, stack);
}

void hooks_end(struct calls_ring *r)
{
	end_all(r, UINT64_MAX);
}

void run_begins(void)
{
	__atomic_fetch_add(&shared.run, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&shared.slow, 1, __ATOMIC_RELAXED);
}

EXPORTED void upto_start(void)
{
	static int has_begun;

	if (shared.armed || !shared.begun || shared.over)
		return;
	if (has_begun || !shared.waits)
		run_begins();
	has_begun = 1;
	shared.armed = 1;
}

EXPORTED void upto_stop(void)
{
	shared.armed = 0;
}

EXPORTED void upto_mark(const char *text)
{
	int error = errno;

	if (shared.armed && !busy && (ring || first_event())) {
		busy = HERE;
		IN_ORDER();
		mark_put(ring, text);
		IN_ORDER();
		busy = 0;
	}
	errno = error;
}

HIDDEN void hooks_forget(void)
{
	ring = NULL;
}

HIDDEN void hooks_never(void)
{
	busy = HERE;
}
