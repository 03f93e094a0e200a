/* SPDX-License-Identifier: MIT */
/*
 * What the compiler calls at each function's begin and end. A record is reserved by one instruction, which no signal
 * can cut in two, and is there once its ticks are not 0: so a signal handler's own calls take the records behind it,
 * and whoever reads the ring of a program that was killed finds each record whole.
 */
#include "upto.h"

#include "ring.h"

#include <errno.h>

static __thread struct calls_ring *ring __attribute__((tls_model("initial-exec")));
static __thread int busy __attribute__((tls_model("initial-exec"))); /* in here: nothing is recorded */
static __thread unsigned run __attribute__((tls_model("initial-exec"))); /* of the thread's last event */

HIDDEN struct shared shared;

#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

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

static inline void put_at(struct calls_ring *r, uint64_t function, uint64_t stack, uint64_t ticks)
{
	struct calls_record *to = &r->record[reserve(r) & shared.mask];

	to->function = function;
	to->stack = stack;
	__atomic_store_n(&to->ticks, ticks, __ATOMIC_RELEASE);
}

static inline void put(struct calls_ring *r, uint64_t function, uint64_t stack, uint64_t (*ticks)(void))
{
	struct calls_record *to = &r->record[reserve(r) & shared.mask];

	to->function = function;
	to->stack = stack;
	__atomic_store_n(&to->ticks, ticks(), __ATOMIC_RELEASE);
}

static struct calls_ring *first_event(void)
{
	struct calls_ring *r;

	if (busy)
		return NULL;
	busy = 1;
	r = ring_new();
	ring = r;
	busy = 0;
	return r;
}

/* The ring is full: 0: an event is lost. */
static int wait_for_room(struct calls_ring *r, uint64_t number)
{
	int room;

	busy++;
	room = ring_wait(r, number);
	busy--;
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
	if (r && (r->reserved < __atomic_load_n(&r->limit, __ATOMIC_ACQUIRE) || wait_for_room(r, r->reserved)))
		put_at(r, function, stack, ticks);
}

/* Handlers of signals that come in between have nothing recorded, which is counted: 0. */
static int steer(uint64_t function, uint64_t stack)
{
	static __thread int steers __attribute__((tls_model("initial-exec")));
	uint64_t ticks = ticks_now();

	if (busy)
		return 0;
	if (steers) {
		if (ring)
			ring->lost++;
		return 0;
	}
	steers = 1;
	/* a jump in a thread that has recorded nothing leaves nothing */
	if (steering_takes(function, stack, ticks) && (ring || function != CALLS_RECORD_EXIT))
		event_put(function, stack, ticks);
	steers = 0;
	return 1;
}

static int record_asking(uint64_t function, uint64_t stack)
{
	struct calls_ring *r;

	if (shared.steered)
		return steer(function, stack);
	r = ring ? ring : first_event();
	if (r)
		note_run(r, function, stack);
	if (!r || (r->reserved >= __atomic_load_n(&r->limit, __ATOMIC_ACQUIRE) && !wait_for_room(r, r->reserved)))
		return 0;
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
	/* a thread that has recorded nothing leaves nothing */
	if (ring || shared.steered)
		record(CALLS_RECORD_EXIT, stack);
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
		busy = 1;
		mark_put(ring, text);
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
	busy = 1;
}
