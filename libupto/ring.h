/* SPDX-License-Identifier: MIT */
/* What the library's parts share. Nothing here allocates, or takes a lock that a signal handler's own calls could want.
 */
#ifndef UPTO_RING_H
#define UPTO_RING_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "calls_file.h"

#define EXPORTED __attribute__((visibility("default")))
#define HIDDEN __attribute__((visibility("hidden")))

struct shared {
	volatile int armed; /* calls are recorded */
	int waits;          /* UPTO_ARM=0: nothing is recorded before upto_start() */
	int begun, over;    /* the program's file is there; it has its end */
	uint64_t mask;      /* of a record's number: where it is in the ring */
	int by_clock;       /* ticks are the clock's ns, since the CPU has no counter that can be trusted */
	int steered;        /* UPTO_KFI says what is recorded (steering.c) */
	int slow;           /* by_clock, steered or run are not 0: hooks take the long way, record_slowly() */
	unsigned run;       /* so often recording began again, after it was stopped */
};

extern struct shared shared;

static inline uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The CPU's own counter, where it has one. Never 0. */
static inline uint64_t ticks_of_cpu(void)
{
#if defined(__x86_64__) || defined(__i386__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks | 1;
#else
	return clock_ns();
#endif
}

static inline uint64_t ticks_now(void)
{
	return shared.by_clock ? clock_ns() : ticks_of_cpu();
}

/* writer.c */

EXPORTED void upto_step_aside(void);

/* A ring for the thread that calls; NULL: there is none. */
HIDDEN struct calls_ring *ring_new(void);
/* Wait until that record has room. 0: it has none, and is counted as lost. */
HIDDEN int ring_wait(struct calls_ring *r, uint64_t number);
/* The thread's next event is not recorded. */
HIDDEN void ring_lose(struct calls_ring *r);
HIDDEN void mark_put(struct calls_ring *r, const char *text);

/* hooks.c */

/* Record an event of this thread at that time. */
HIDDEN void event_put(uint64_t function, uint64_t stack, uint64_t ticks);
EXPORTED void __cyg_profile_func_enter(void *function, void *site);
EXPORTED void __cyg_profile_func_exit(void *function, void *site);

enum { EVENT_NONE, EVENT_DONE, EVENT_SLOW };
/* Record an event now, if nothing needs to be asked; EVENT_SLOW: event() is to be called. Uses no vectors' registers. */
HIDDEN int event_quick(uint64_t function, uint64_t stack);
/* Record it now. 0: it was not. errno stays as it is. */
HIDDEN int event(uint64_t function, uint64_t stack);

/* What was stopped is recorded again. */
HIDDEN void run_begins(void);
/* longjmp() goes to where the stack pointer is that. */
HIDDEN void jump_put(uint64_t stack);
/* The thread ends, maybe in a handler of a signal that came when it was in here. */
HIDDEN void hooks_end(struct calls_ring *r);
/* The thread has no ring any more. */
HIDDEN void hooks_forget(void);
/* Nothing that this thread does is recorded. */
HIDDEN void hooks_never(void);

/* steering.c */

/* What UPTO_KFI asks for, once the program's functions can be found. 0: nothing is to be recorded; it says why. */
HIDDEN int steering_begin(void);
/* The event is to be recorded, and what was kept back goes before it. */
HIDDEN int steering_takes(uint64_t function, uint64_t stack, uint64_t ticks);
/* The thread, or the program, ends: what is under way and is long enough is recorded. */
HIDDEN void steering_end(void);
/* Lines for the file's INFO, where it begins or ends; how many bytes. */
HIDDEN size_t steering_info(char *out, size_t size, int ends);
/* A child begins with nothing under way. */
HIDDEN void steering_forget(void);

/* symbols.c */

/* Call each(name, address) for functions of the program and its libraries, until it returns 0. */
HIDDEN void symbols_each(int (*each)(void *context, const char *name, uint64_t address), void *context);
/* Has the program's own file that function? If it is stripped, only those that others can call are known. */
HIDDEN int symbols_program_has(const char *function);

/* jumps.c */

HIDDEN void jumps_find(void);

/* profile.c */

/* Calls of programs that were compiled with -pg can be recorded from then on. */
HIDDEN void profile_begin(void);
/* Return addresses from there on are as the program left them. */
HIDDEN void profile_pass(uint64_t from);
/* … and they need not be any more, from where the stack pointer is that. 0: they were not. */
HIDDEN int profile_caught(uint64_t to);

/* modules.c */

struct file;

/* Put blocks of what was loaded and unloaded since the last time. */
HIDDEN void modules_look(struct file *f);
/* The number of the first look that begins after this. Has that one ended? For any thread. */
HIDDEN unsigned modules_next_look(void);
HIDDEN int modules_looked(unsigned look);
/* It is being done, or waits for somebody who is in a callback of dl_iterate_phdr(3). For any thread. */
HIDDEN int modules_are_looked_at(void);
/* Does the address lie in a module that is known? */
HIDDEN int modules_have(uint64_t address);
HIDDEN void modules_forget(void);
/* Before a fork: nobody looks, up to modules_go_on(), which is for parent and child. */
HIDDEN void modules_hold(void);
HIDDEN void modules_go_on(void);

/* file.c: blocks, written to the program's file */

/*
 * Which file it is that a number was opened for. The program may close any number, and have another file there: so it
 * is held against this before each use.
 */
struct own_file {
	int fd; /* -1: none */
	dev_t device;
	ino_t inode;
};

HIDDEN struct own_file own_file_of(int fd);
/* Is it that file which the number stands for? */
HIDDEN int own_file_is(const struct own_file *o, int fd);

enum { FILE_PATH = 4096 };

struct file {
	struct own_file own, ring;
	uint32_t number;
	int failed; /* errno; 0: all was written */
	/* how often disk for a ring began to be reserved, and was, or was given back; by any thread */
	unsigned reserving, reserved;
	char path[FILE_PATH];
	char whole_path[2 * FILE_PATH], ring_path[2 * FILE_PATH + 8]; /* from the root on */
};

/* Open it, and its ring file, by what the environment says. 0, or errno. */
HIDDEN int file_open(struct file *f);
HIDDEN void file_put(struct file *f, enum calls_block_kind kind, const void *head, size_t head_bytes, const void *more,
		     size_t more_bytes);
/* The ring file; if it is not f->ring.fd, it is to be closed. -1: it is not there any more. For any thread. */
HIDDEN int file_ring_fd(const struct file *f);
HIDDEN void file_close(struct file *f);
/* The program's end: the ring file is not needed any more. */
HIDDEN void file_end(struct file *f);

#endif
