/* SPDX-License-Identifier: MIT */
/*
 * The thread that packs what the others record, and writes it. It polls: so no one who records has to wake it, which
 * would cost more than all else.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "ring.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

enum {
	RINGS_MAX = 1024,
	RECORDS = 1 << 16, /* of a ring, unless UPTO_BUFFER says otherwise */
	MARGIN = 4096,     /* records that signal handlers may begin between the look and the reservation */
	BLOCK_EVENTS = 1 << 15,
	TOKEN_MAX = 32, /* bytes of an event, at most, with an UNWIND before it */
	MARKS = 256,
	MARK_BYTES = 200,
	DEPTH_MAX = 1 << 16, /* calls of a thread whose place on the stack is known */
};

/* What the writer knows of a ring's thread. */
struct kept {
	uint64_t *stacks; /* by open call: its stack pointer */
	unsigned depth;
	uint64_t last_ticks;
	int told;
	uint64_t told_at; /* the clock's ns when its name was looked at */
	char name[16];
};

struct mark {
	uint32_t state; /* 0: free; 1: being filled in; 2: there */
	uint32_t thread;
	uint64_t ticks;
	char text[MARK_BYTES];
};

static struct {
	struct file file;
	struct own_file complaints; /* standard error, as the program was given it */
	struct calls_ring *rings[RINGS_MAX];
	uint8_t is_made[RINGS_MAX]; /* the slot has a ring, or gets one now */
	uint32_t n_rings;           /* slots up to the last that has one */
	uint64_t no_room_until;     /* by the clock: there was none for a ring */
	uint32_t n_threads;
	struct kept kept[RINGS_MAX];
	uint32_t records;
	int drops; /* UPTO_OVERFLOW=drop */
	struct mark marks[MARKS];
	uint64_t homeless, homeless_told; /* as in the first ring, while there is none */
	pthread_t thread;
	int has_thread, runs, ends;
	int is_stuck; /* it waits for who is in a callback of dl_iterate_phdr(3), and others have waited for it in vain */
	pthread_key_t key; /* its destructor tells that a thread ends */
	uint64_t clock_first, clock_at; /* the clock's ns when it was looked at: the first time, the last */
	uint8_t block[BLOCK_EVENTS * TOKEN_MAX + 64];
} writer;

static size_t ring_bytes(void)
{
	size_t bytes = sizeof(struct calls_ring) + writer.records * sizeof(struct calls_record);

	return (bytes + CALLS_RING_UNIT - 1) / CALLS_RING_UNIT * CALLS_RING_UNIT;
}

/*
 * Disk for a ring, all of it at once: where there is none left for a page that is written later, the program is killed
 * (SIGBUS). A file that would become too long is its end, too (SIGXFSZ).
 */
static int has_disk(int fd, off_t from)
{
	off_t bytes = (off_t)ring_bytes();
	struct rlimit longest;
	sigset_t all, before;
	int error;

	if (getrlimit(RLIMIT_FSIZE, &longest) == 0 && longest.rlim_cur < (rlim_t)(from + bytes))
		return 0;
	/* a signal would end it early, and many would for ever */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	__atomic_fetch_add(&writer.file.reserving, 1, __ATOMIC_SEQ_CST);
	error = posix_fallocate(fd, from, bytes);
	/* not every C library writes zeros where a file system cannot do that */
	if (error == EOPNOTSUPP || error == EINVAL)
		error = pwrite(fd, "", 1, from + bytes - 1) != 1;
	else if (error) /* what it got nevertheless is the program's */
		fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from, bytes);
	__atomic_fetch_add(&writer.file.reserved, 1, __ATOMIC_SEQ_CST);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return !error;
}

static struct calls_ring *map_slot(uint32_t n)
{
	int fd = file_ring_fd(&writer.file);
	off_t at = (off_t)(n * ring_bytes());
	struct calls_ring *r = MAP_FAILED;

	if (fd >= 0 && has_disk(fd, at))
		r = mmap(NULL, ring_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, at);
	if (fd >= 0 && fd != writer.file.ring.fd)
		close(fd);
	return r == MAP_FAILED ? NULL : r;
}

static struct calls_ring *make_slot(uint32_t n)
{
	enum { NOT_AGAIN_NS = 10000000 };
	struct calls_ring *r;

	/* each event of a thread that has none asks for one */
	if (clock_ns() < __atomic_load_n(&writer.no_room_until, __ATOMIC_RELAXED))
		return NULL;
	r = map_slot(n);
	if (!r) {
		__atomic_store_n(&writer.no_room_until, clock_ns() + NOT_AGAIN_NS, __ATOMIC_RELAXED);
		return NULL;
	}
	r->records = writer.records;
	r->limit = writer.records - MARGIN;
	r->state = CALLS_RING_TAKEN;
	__atomic_store_n(&writer.rings[n], r, __ATOMIC_RELEASE);
	return r;
}

/* A slot that has a ring counts; others raise that at the same time. */
static void count_slot(uint32_t n)
{
	uint32_t count = __atomic_load_n(&writer.n_rings, __ATOMIC_ACQUIRE);

	while (count <= n &&
	       !__atomic_compare_exchange_n(&writer.n_rings, &count, n + 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		;
}

/* A slot whose thread has ended and is written, or a new one. */
static struct calls_ring *take_slot(void)
{
	for (uint32_t i = 0; i < RINGS_MAX; i++) {
		struct calls_ring *r = __atomic_load_n(&writer.rings[i], __ATOMIC_ACQUIRE);
		uint32_t free_ = CALLS_RING_FREE;

		if (r && __atomic_compare_exchange_n(&r->state, &free_, CALLS_RING_TAKEN, 0, __ATOMIC_ACQ_REL,
						     __ATOMIC_RELAXED))
			return r;
		/* one that another thread makes just now is not ours */
		if (r || __atomic_exchange_n(&writer.is_made[i], 1, __ATOMIC_ACQUIRE))
			continue;
		r = make_slot(i);
		if (r)
			count_slot(i);
		else
			__atomic_store_n(&writer.is_made[i], 0, __ATOMIC_RELEASE);
		return r;
	}
	return NULL;
}

static void count_homeless(void)
{
	struct calls_ring *first = __atomic_load_n(&writer.rings[0], __ATOMIC_ACQUIRE);

	__atomic_fetch_add(first ? &first->homeless : &writer.homeless, 1, __ATOMIC_RELAXED);
}

struct calls_ring *ring_new(void)
{
	struct calls_ring *r = take_slot();

	/* it is asked for again by the thread's next event */
	if (!r) {
		count_homeless();
		return NULL;
	}
	r->tid = (uint32_t)syscall(SYS_gettid);
	r->thread = __atomic_fetch_add(&writer.n_threads, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&r->state, CALLS_RING_USED, __ATOMIC_RELEASE);
	pthread_setspecific(writer.key, r);
	return r;
}

static void thread_ends(void *ring)
{
	struct calls_ring *r = ring;

	hooks_end(r);
	if (shared.steered)
		steering_end();
	hooks_forget();
	__atomic_store_n(&r->state, CALLS_RING_LEFT, __ATOMIC_RELEASE);
}

/* The writer waits for a record that is being filled in, maybe by whom a signal's handler has interrupted. */
static int is_held_up(const struct calls_ring *r)
{
	uint64_t n = __atomic_load_n(&r->taken, __ATOMIC_ACQUIRE);

	/* … or it is just taking it */
	return n < __atomic_load_n(&r->reserved, __ATOMIC_RELAXED) &&
	       !__atomic_load_n(&r->record[n & shared.mask].ticks, __ATOMIC_ACQUIRE) &&
	       n >= __atomic_load_n(&r->taking, __ATOMIC_ACQUIRE);
}

/* Nobody will make room, or not soon. */
static int waits_in_vain(const struct calls_ring *r, unsigned naps)
{
	enum { NAPS_MAX = 50000 }; /* some seconds */

	if (naps > NAPS_MAX)
		__atomic_store_n(&writer.is_stuck, 1, __ATOMIC_RELAXED);
	/* what this thread itself is to fill in, it does not while it waits */
	return writer.drops || !__atomic_load_n(&writer.runs, __ATOMIC_ACQUIRE) || is_held_up(r) ||
	       __atomic_load_n(&writer.is_stuck, __ATOMIC_RELAXED);
}

void ring_lose(struct calls_ring *r)
{
	__atomic_store_n(&r->lost_at, r->reserved, __ATOMIC_RELAXED);
	__atomic_fetch_add(&r->lost, 1, __ATOMIC_RELEASE);
}

int ring_wait(struct calls_ring *r, uint64_t number)
{
	const struct timespec little = { .tv_nsec = 20000 };
	unsigned naps = 0;

	while (number >= __atomic_load_n(&r->limit, __ATOMIC_ACQUIRE)) {
		if (waits_in_vain(r, naps)) {
			ring_lose(r);
			return 0;
		}
		syscall(SYS_nanosleep, &little, NULL);
		naps = modules_are_looked_at() ? naps + 1 : 0;
	}
	return 1;
}

void mark_put(struct calls_ring *r, const char *text)
{
	uint32_t free_ = 0;

	for (int i = 0; i < MARKS; i++) {
		struct mark *m = &writer.marks[i];

		free_ = 0;
		if (!__atomic_compare_exchange_n(&m->state, &free_, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		m->ticks = ticks_now();
		m->thread = r->thread;
		strncpy(m->text, text, MARK_BYTES - 1);
		m->text[MARK_BYTES - 1] = 0;
		__atomic_store_n(&m->state, 2, __ATOMIC_RELEASE);
		return;
	}
	count_homeless(); /* it is no call, so the thread's stack is whole */
}

/* Of a few looks at both clocks, the one that took least: between them a CPU may do something else for long. */
static struct calls_clock both_clocks(void)
{
	enum { LOOKS = 5 };
	struct calls_clock best = { 0 };
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < LOOKS; i++) {
		uint64_t before = clock_ns(), ticks = ticks_now(), took = clock_ns() - before;

		if (took < least) {
			least = took;
			best = (struct calls_clock){ ticks, before + took / 2 };
		}
	}
	return best;
}

static void put_clocks(const struct calls_clock *c)
{
	file_put(&writer.file, CALLS_CLOCK, c, sizeof *c, NULL, 0);
	writer.clock_at = c->ns;
}

static void put_clock(void)
{
	const struct calls_clock c = both_clocks();

	put_clocks(&c);
}

static uint8_t *put_varint(uint8_t *out, uint64_t n)
{
	for (; n >= 0x80; n >>= 7)
		*out++ = (uint8_t)(n | 0x80);
	*out++ = (uint8_t)n;
	return out;
}

/*
 * How many calls a jump to there leaves: the frame that it goes to is the nearest above. Handlers of signals may have
 * stacks of their own, which are anywhere.
 */
static unsigned left_calls(struct kept *k, uint64_t to)
{
	enum { FAR = 64 << 20 }; /* bytes: no frame is so large */
	uint64_t nearest = FAR;
	unsigned at = k->depth;

	for (unsigned i = 0; k->stacks && i < k->depth && k->depth <= DEPTH_MAX; i++)
		if (k->stacks[i] + CALLS_HOOK - to < nearest) {
			nearest = k->stacks[i] + CALLS_HOOK - to;
			at = i + 1;
		}
	return k->depth - at;
}

/* How many calls have a frame below that. */
static unsigned calls_below(const struct kept *k, uint64_t frame)
{
	unsigned n = k->depth;

	if (!k->stacks || k->depth > DEPTH_MAX)
		return 0;
	while (n && k->stacks[n - 1] + CALLS_HOOK < frame)
		n--;
	return k->depth - n;
}

static uint8_t *pack_jump(uint8_t *out, struct calls_model *m, struct kept *k, uint64_t to)
{
	unsigned left = to & CALLS_RECORD_FRAME ? calls_below(k, to & ~CALLS_RECORD_FRAME) : left_calls(k, to);

	*out++ = CALLS_UNWIND;
	out = put_varint(out, left);
	k->depth -= left;
	while (left--)
		calls_pop(m, 0);
	return out;
}

static void note_begin(struct kept *k, uint64_t stack)
{
	if (!k->stacks) {
		void *place = mmap(NULL, DEPTH_MAX * sizeof *k->stacks, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		k->stacks = place == MAP_FAILED ? NULL : place;
	}
	if (k->stacks && k->depth < DEPTH_MAX)
		k->stacks[k->depth] = stack;
	k->depth++;
}

static uint8_t *pack(uint8_t *out, struct calls_model *m, struct kept *k, const struct calls_record *r)
{
	uint64_t function = r->function & ~CALLS_RECORD_EXIT, ends = r->function & CALLS_RECORD_EXIT, expected;
	uint64_t now = r->ticks >> CALLS_SHIFT, step = now > k->last_ticks ? now - k->last_ticks : 0;
	uint8_t *token;

	if (r->function == CALLS_RECORD_EXIT)
		return pack_jump(out, m, k, r->stack);
	k->last_ticks += step;
	token = out++;
	*token = (uint8_t)((ends ? CALLS_EXIT : 0) | (step < CALLS_LONG ? step : CALLS_LONG));
	if (step >= CALLS_LONG)
		out = put_varint(out, step - CALLS_LONG);
	expected = ends ? calls_top(m) : *calls_expected(m);
	if (function != expected) {
		int64_t difference = (int64_t)(function - m->last_other);

		*token |= CALLS_OTHER;
		out = put_varint(out, difference < 0 ? ~((uint64_t)difference << 1) : (uint64_t)difference << 1);
		m->last_other = function;
	}
	if (ends) {
		calls_pop(m, function);
		k->depth -= k->depth > 0;
	} else {
		*calls_expected(m) = function;
		calls_push(m, function);
		note_begin(k, r->stack);
	}
	return out;
}

static void tell_thread(struct calls_ring *r, struct kept *k)
{
	struct calls_thread t = { .thread = r->thread, .tid = r->tid };
	char path[64];
	FILE *f;

	if (k->told && k->told_at == writer.clock_at)
		return;
	k->told_at = writer.clock_at;
	snprintf(path, sizeof path, "/proc/self/task/%u/comm", r->tid);
	f = fopen(path, "re");
	if (f) {
		size_t n = fread(t.name, 1, sizeof t.name - 1, f);

		if (n && t.name[n - 1] == '\n')
			t.name[n - 1] = 0;
		fclose(f);
	}
	if (k->told && (!*t.name || !memcmp(k->name, t.name, sizeof t.name)))
		return;
	k->told = 1;
	memcpy(k->name, t.name, sizeof t.name);
	file_put(&writer.file, CALLS_THREAD, &t, sizeof t, NULL, 0);
}

/* What was lost before record number *ret, and is not told yet. 0: nothing was. */
static int has_untold(const struct calls_ring *r, uint64_t *ret)
{
	if (__atomic_load_n(&r->lost, __ATOMIC_ACQUIRE) == r->lost_told)
		return 0;
	*ret = __atomic_load_n(&r->lost_at, __ATOMIC_RELAXED);
	return 1;
}

/* What there is no room to tell of stands in the ring still. */
static void tell_lost(const uint64_t *count, uint64_t *told, uint32_t thread)
{
	uint64_t lost = __atomic_load_n(count, __ATOMIC_RELAXED);
	struct calls_lost l = { .events = lost - *told, .thread = thread };

	if (!l.events)
		return;
	file_put(&writer.file, CALLS_LOST, &l, sizeof l, NULL, 0);
	if (!writer.file.failed)
		*told = lost;
}

static void tell_homeless(void)
{
	struct calls_ring *first = __atomic_load_n(&writer.rings[0], __ATOMIC_ACQUIRE);

	tell_lost(&writer.homeless, &writer.homeless_told, CALLS_NO_THREAD);
	if (first)
		tell_lost(&first->homeless, &first->homeless_told, CALLS_NO_THREAD);
}

static void look_at_modules(void)
{
	modules_look(&writer.file);
	__atomic_store_n(&writer.is_stuck, 0, __ATOMIC_RELAXED);
}

/* What lies in no module that is known may lie in one that came just now. */
static void look_for(uint64_t function)
{
	static uint64_t page;

	if (function >> 12 == page)
		return;
	page = function >> 12;
	if (!modules_have(function))
		look_at_modules();
}

/* Where events were lost, there is room only when that is told, behind all that came before. */
static void give_room(struct calls_ring *r)
{
	uint64_t ignored;

	if (!has_untold(r, &ignored))
		__atomic_store_n(&r->limit, r->taken + r->records - MARGIN, __ATOMIC_RELEASE);
}

/* How many records were packed and written. */
static unsigned drain(struct calls_ring *r, struct kept *k)
{
	static struct calls_model model;
	uint64_t at = r->taken, stop = UINT64_MAX;
	uint8_t *out = writer.block;
	struct calls_events head = { .thread = r->thread, .first = at };
	struct calls_record *record = &r->record[at & shared.mask];

	if ((has_untold(r, &stop) && at == stop) || !__atomic_load_n(&record->ticks, __ATOMIC_ACQUIRE))
		return 0;
	tell_thread(r, k);
	model = (struct calls_model){ .depth = 0 };
	if (!k->last_ticks)
		k->last_ticks = record->ticks >> CALLS_SHIFT;
	head.ticks = k->last_ticks << CALLS_SHIFT;
	for (; head.events < BLOCK_EVENTS && at != stop; head.events++, at++) {
		record = &r->record[at & shared.mask];
		if (!__atomic_load_n(&record->ticks, __ATOMIC_ACQUIRE))
			break;
		if (record->function != CALLS_RECORD_EXIT)
			look_for(record->function & ~CALLS_RECORD_EXIT);
		out = pack(out, &model, k, record);
	}
	file_put(&writer.file, CALLS_EVENTS, &head, sizeof head, writer.block, (size_t)(out - writer.block));
	/* what cannot be written stays in the ring, and what has no room there any more is counted */
	if (writer.file.failed)
		return 0;
	__atomic_store_n(&r->taking, at, __ATOMIC_RELAXED);
	for (uint64_t i = r->taken; i < at; i++)
		__atomic_store_n(&r->record[i & shared.mask].ticks, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&r->taken, at, __ATOMIC_RELEASE);
	give_room(r);
	return head.events;
}

static void leave(struct calls_ring *r, struct kept *k)
{
	uint32_t thread = r->thread;
	uint64_t *stacks = k->stacks;

	file_put(&writer.file, CALLS_LEFT, &thread, sizeof thread, NULL, 0);
	*k = (struct kept){ .stacks = stacks };
	__atomic_store_n(&r->state, CALLS_RING_FREE, __ATOMIC_RELEASE);
}

static unsigned drain_ring(uint32_t i)
{
	struct calls_ring *r = __atomic_load_n(&writer.rings[i], __ATOMIC_ACQUIRE);
	uint32_t state = r ? __atomic_load_n(&r->state, __ATOMIC_ACQUIRE) : CALLS_RING_FREE;
	uint64_t lost_at;
	unsigned n;

	if (state == CALLS_RING_FREE || state == CALLS_RING_TAKEN)
		return 0;
	n = drain(r, &writer.kept[i]);
	if (has_untold(r, &lost_at) && r->taken >= lost_at) {
		tell_lost(&r->lost, &r->lost_told, r->thread);
		give_room(r);
		n++;
	}
	if (state == CALLS_RING_LEFT && !n)
		leave(r, &writer.kept[i]);
	return n;
}

static void put_marks(void)
{
	for (int i = 0; i < MARKS; i++) {
		struct mark *m = &writer.marks[i];
		struct calls_mark head;

		if (__atomic_load_n(&m->state, __ATOMIC_ACQUIRE) != 2)
			continue;
		head = (struct calls_mark){
			.ticks = m->ticks, .thread = m->thread, .bytes = (uint32_t)strlen(m->text),
		};
		file_put(&writer.file, CALLS_MARK, &head, sizeof head, m->text, head.bytes);
		__atomic_store_n(&m->state, 0, __ATOMIC_RELEASE);
	}
}

/* Seldom, but soon at first: a program that is killed early has the counter's pace nevertheless. */
static int is_time_for_clock(void)
{
	enum { SOONEST_NS = 1000000, EVERY_NS = 100000000, TIMES = 10 };
	uint64_t now = clock_ns(), wait = (writer.clock_at - writer.clock_first) * (TIMES - 1);

	wait = wait < SOONEST_NS ? SOONEST_NS : wait > EVERY_NS ? EVERY_NS : wait;
	return now - writer.clock_at > wait;
}

static unsigned write_some(void)
{
	uint32_t n = __atomic_load_n(&writer.n_rings, __ATOMIC_ACQUIRE);
	unsigned events = 0;

	look_at_modules();
	put_marks();
	tell_homeless();
	for (uint32_t i = 0; i < n && i < RINGS_MAX; i++)
		events += drain_ring(i);
	if (is_time_for_clock())
		put_clock();
	return events;
}

/* Nothing more is recorded: what is being filled in had not happened yet when a handler came that ended the program. */
static unsigned pass_unfilled(void)
{
	unsigned passed = 0;

	for (uint32_t i = 0; i < writer.n_rings && i < RINGS_MAX; i++) {
		struct calls_ring *r = __atomic_load_n(&writer.rings[i], __ATOMIC_ACQUIRE);

		for (; r && is_held_up(r); passed++) {
			__atomic_store_n(&r->taking, r->taken + 1, __ATOMIC_RELAXED);
			__atomic_store_n(&r->taken, r->taken + 1, __ATOMIC_RELEASE);
		}
	}
	return passed;
}

static void *write_in_thread(void *unused)
{
	const struct timespec little = { .tv_nsec = 200000 };

	prctl(PR_SET_NAME, "upto");
	hooks_never();
	while (!writer.file.failed && !__atomic_load_n(&writer.ends, __ATOMIC_ACQUIRE))
		if (write_some() < BLOCK_EVENTS / 4)
			nanosleep(&little, NULL);
	while (!writer.file.failed && (write_some() || pass_unfilled()))
		;
	if (writer.file.failed)
		__atomic_store_n(&writer.runs, 0, __ATOMIC_RELEASE);
	return unused;
}

static void start_thread(void)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	writer.ends = 0;
	writer.runs = 1;
	writer.runs = writer.has_thread = !pthread_create(&writer.thread, NULL, write_in_thread, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Is the CPU's counter the same on all CPUs, and does it never change its pace? */
static int counter_is_good(void)
{
#if defined(__x86_64__) || defined(__i386__)
	unsigned a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1 << 8);
#else
	return 1;
#endif
}

static uint32_t records_asked(void)
{
	const char *text = getenv("UPTO_BUFFER");
	char *end = NULL;
	uint64_t bytes = text ? strtoull(text, &end, 0) : 0;
	uint32_t n = MARGIN * 2;

	if (!bytes)
		return RECORDS;
	bytes <<= *end == 'k' || *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
	while (n < 1u << 26 && (uint64_t)n * 2 * sizeof(struct calls_record) <= bytes)
		n *= 2;
	return n;
}

static void begin(void)
{
	const char *arm = getenv("UPTO_ARM"), *overflow = getenv("UPTO_OVERFLOW");
	/* before all that is to be done, and behind it: so the counter's pace is known from the begin on */
	const struct calls_clock first = both_clocks();
	int failed = file_open(&writer.file);

	if (failed) {
		fprintf(stderr, "libupto: %s: %s; nothing is recorded\n", writer.file.path, strerror(failed));
		return;
	}
	shared.slow = shared.by_clock || shared.steered;
	writer.records = records_asked();
	writer.drops = overflow && !strcmp(overflow, "drop");
	shared.mask = writer.records - 1;
	shared.begun = 1;
	writer.clock_first = first.ns;
	put_clocks(&first);
	modules_look(&writer.file);
	put_clock();
	start_thread();
	shared.waits = arm && !strcmp(arm, "0");
	shared.armed = writer.runs && !shared.waits;
}

/*
 * A handler of a signal that came into a hook may fork. There the hook goes on in the child, too, and writes to what it
 * has found: to memory that is nobody's, and has room.
 */
static void leave_to_nobody(struct calls_ring *r)
{
	if (mmap(r, ring_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
		 0) == r)
		r->limit = UINT64_MAX;
}

/* A child has its parent's memory, but nothing of its own was recorded yet: it gets a file of its own. */
static void in_child(void)
{
	const struct calls_ring *own = pthread_getspecific(writer.key);
	int armed = shared.armed, begun = shared.begun && !shared.over, error = errno;

	modules_go_on();
	hooks_forget();
	steering_forget();
	pthread_setspecific(writer.key, NULL);
	for (uint32_t i = 0; i < writer.n_rings && i < RINGS_MAX; i++) {
		if (writer.rings[i] && writer.rings[i] == own)
			leave_to_nobody(writer.rings[i]);
		else if (writer.rings[i])
			munmap(writer.rings[i], ring_bytes());
		if (writer.kept[i].stacks)
			munmap(writer.kept[i].stacks, DEPTH_MAX * sizeof *writer.kept[i].stacks);
	}
	memset(writer.rings, 0, sizeof writer.rings);
	memset(writer.is_made, 0, sizeof writer.is_made);
	memset(writer.kept, 0, sizeof writer.kept);
	memset(writer.marks, 0, sizeof writer.marks);
	writer.n_rings = writer.n_threads = 0;
	writer.homeless = writer.homeless_told = 0;
	file_close(&writer.file);
	modules_forget();
	/* its parent's writer is not there, also if it gets none of its own */
	shared.armed = shared.begun = writer.runs = writer.has_thread = 0;
	if (begun)
		begin();
	/* what upto_start() was waited for has come before, or is still to come */
	shared.armed = writer.runs && armed;
	errno = error;
}

/* Behind its last destructors. What other threads do from here on is not recorded. */
static __attribute__((destructor(101))) void unload(void)
{
	if (!shared.begun || shared.over)
		return;
	if (shared.steered && shared.armed)
		steering_end();
	shared.armed = 0;
	shared.over = 1;
	__atomic_store_n(&writer.ends, 1, __ATOMIC_RELEASE);
	if (writer.has_thread)
		pthread_join(writer.thread, NULL);
	__atomic_store_n(&writer.runs, 0, __ATOMIC_RELEASE);
	put_clock();
	file_end(&writer.file);
	if (writer.file.failed && own_file_is(&writer.complaints, STDERR_FILENO))
		fprintf(stderr, "libupto: %s: %s; what was not written is in %s.ring\n", writer.file.path,
			strerror(writer.file.failed), writer.file.path);
}

/* It was loaded for nothing: the program has the library within, and calls that one. Its file has nothing, and goes. */
EXPORTED void upto_step_aside(void)
{
	if (!shared.begun || shared.over)
		return;
	unload();
	unlink(writer.file.path);
}

/* Is it this one whose hooks are called, if there are several? */
static int is_called(void)
{
#ifdef UPTO_STATIC
	void (*other)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "upto_step_aside");

	if (other && other != upto_step_aside)
		other();
	return 1;
#else
	return dlsym(RTLD_DEFAULT, "__cyg_profile_func_enter") == (void *)__cyg_profile_func_enter;
#endif
}

/* Before the program's own constructors. */
static __attribute__((constructor(101))) void load(void)
{
	int error = errno;

	if (!is_called())
		return;
	shared.by_clock = !counter_is_good();
	writer.complaints = own_file_of(STDERR_FILENO);
	if (pthread_key_create(&writer.key, thread_ends))
		return;
	pthread_atfork(modules_hold, modules_go_on, in_child);
	jumps_find();
	profile_begin();
	if (!getenv("UPTO_KFI") || steering_begin())
		begin();
	errno = error;
}

enum { NAPS_MAX = 1000 };
static const struct timespec until_written = { .tv_nsec = 100000 };

static void wait_for_records(void)
{
	for (uint32_t i = 0; writer.runs && i < writer.n_rings && i < RINGS_MAX; i++) {
		struct calls_ring *r = writer.rings[i];
		uint64_t upto = r ? __atomic_load_n(&r->reserved, __ATOMIC_RELAXED) : 0;
		unsigned held_up = 0;

		while (r && writer.runs && __atomic_load_n(&r->taken, __ATOMIC_ACQUIRE) < upto && held_up < NAPS_MAX) {
			held_up = is_held_up(r) || modules_are_looked_at() ? held_up + 1 : 0;
			nanosleep(&until_written, NULL);
		}
	}
}

static void wait_for_look(void)
{
	unsigned look = modules_next_look(), held_up = 0;

	while (__atomic_load_n(&writer.runs, __ATOMIC_ACQUIRE) && !modules_looked(look) && held_up < NAPS_MAX) {
		held_up = modules_are_looked_at() ? held_up + 1 : 0;
		nanosleep(&until_written, NULL);
	}
}

/*
 * Another module may come to where this one was. So what is recorded and lies in it is to be written before it goes,
 * and that it is gone before another can come.
 */
EXPORTED int dlclose(void *handle)
{
	static int (*real)(void *);
	int ret;

	if (!real)
		real = (int (*)(void *))dlsym(RTLD_NEXT, "dlclose");
	wait_for_records();
	ret = real(handle);
	wait_for_look();
	return ret;
}
