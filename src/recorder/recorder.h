/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The QEMU plugin. Three kinds of threads meet here:
 *
 *   translation (any vCPU's thread, one at a time under `lock`) decides what
 *     to watch in a block: watch/translate.c, with the CPU's own part (cpu.h)
 *   execution (each vCPU's thread) writes raw records to its own ring: watch_*.c
 *   the drain thread turns records into chunks of the trace: ring/drain.c
 */
#ifndef UPTO_RECORDER_RECORDER_H
#define UPTO_RECORDER_RECORDER_H

#include <assert.h>
#include <pthread.h>

#include "recorder/kernel/kernel.h"
#include "recorder/qemu/qemu_inside.h"
#include "recorder/qemu/qemu_interface.h"
#include "recorder/qemu/registers.h"
#include "recorder/ring/raw.h"
#include "recorder/ring/ring.h"
#include "recorder/watch/blocks.h"
#include "recorder/x86/cpu_state.h"
#include "stats.h"
#include "trace/meta.h"
#include "trace/sites.h"
#include "trace/texts.h"

enum { VCPUS_MAX = 1024 };

/* A system call whose strings were not in memory when it was made. */
struct unread {
	const char *kinds;    /* of its arguments; NULL: nothing is left to read */
	uint64_t insns, ns, args[6];
	unsigned cpu;
	bool wide;            /* pointers in its structures have 64 bits */
};

/*
 * One element of the scoreboard, which QEMU moves when a vCPU is added: what translated code writes itself. It fills a
 * cache line, so that vCPUs do not write to each other's, and QEMU finds it by a shift instead of a multiplication.
 */
struct live {
	uint64_t insns;       /* retired, up to the end of the block that runs */
	uint64_t block;       /* number of the block that began last, of those that tell */
	uint64_t unwatched;   /* transfers at places that no site could be made for */
	uint64_t unlooked;    /* instructions since the clock was looked at, while a time is waited for */
	uint64_t thunk;       /* site of what called or jumped to the thunk that runs: thunks.h; 0: none runs */
	uint64_t left;        /* calls that another function will return for: returns.h */
	uint64_t pad[2];
};

static_assert(sizeof(struct live) == 64, "a cache line");

/* Stays where it is: the drain thread and other vCPUs read it at any time. */
struct vcpu {
	struct live *live;    /* on the scoreboard; see recorder_find_live() */
	const uint64_t *value; /* where loaded values can be read; NULL: ask QEMU, and check the place */
	/* the same, once learnt; whether it is right is seen with each block of the ring */
	const uint64_t *value_place;
	bool value_used;      /* values were read there since it was last checked */
	struct ring ring;
	uint64_t target;      /* of the indirect branch that is under way */
	uint64_t rip;         /* where the block that ends in a jump really began */
	struct vcpu_state cpu;
	/* the counter when a block of one instruction accessed memory, and that block: watch_single() */
	uint64_t single_insns;
	uint32_t single_block;
	bool taken_back;       /* what a fault left, before the block of its handler told: watch_awaited_handler() */
	uint64_t task;        /* task_struct that runs; 0: not known */
	uint64_t unproven;    /* mm_struct that runs, if it has mappings to be looked at: contents.h; else 0 */
	uint64_t space;       /* page tables, 4 kB aligned */
	enum { LEFT_UNKNOWN, LEFT_BY_INTERRUPT, LEFT_BY_SYSCALL } user_left; /* how, last; by the task that runs */
	uint64_t user_from;   /* where the task that runs left user code, last; 0: not known */
	bool halted;
	bool begun;           /* it has executed */
	bool stands;          /* it has not, since the guest went on from a snapshot */
	bool runs_into;       /* the block that runs has yet to get to a function that is waited for: waiting.h */
	bool waited, waits;   /* its ring began with, and now gets what is outside the spans: waiting.h */
	uint64_t end_insns;   /* where the recording ends */
	bool ended;           /* the guest has powered off; what QEMU still executes is ignored */
	unsigned index;
	struct unread unread; /* of the task that runs */
	struct registers regs;
	uint64_t facts[FACT_KINDS], fact_ns[FACT_KINDS]; /* as in stats.h */
} __attribute__((aligned(64)));

struct cpu_ops;

struct recorder {
	const struct cpu_ops *cpu; /* cpu.h */
	bool waits;             /* see recorder_waits() */
	bool thunk_steps;       /* what thunks do is recorded step by step */
	bool told_interrupts;   /* QEMU tells of interrupts and exceptions; else their handlers are watched */
	struct qemu_plugin_scoreboard *score;
	qemu_plugin_u64 insns, block, unwatched, unlooked, thunk, left;
	struct live *live;      /* the scoreboard's first element */
	struct vcpu *vcpus[VCPUS_MAX];
	unsigned n_vcpus;
	pthread_t boot_thread;  /* that of the vCPU that boots … */
	unsigned boot_vcpu;     /* … which is 0, but where a kernel is started by another one */

	pthread_mutex_t lock;  /* for what translation owns: */
	struct registers translate_regs; /* of whichever vCPU translates */
	struct sites sites;
	struct map site_numbers;
	struct map call_targets;
	struct map successors;  /* places that translated code leads to by itself */
	struct map arrivals;    /* places that are watched, and why */
	struct map results;     /* places in the kernel that a hook's function returns to → its number + 1 */
	uint64_t late_arrivals; /* places that should be, but were translated before that was known */
	struct blocks blocks;
	struct cpu_tables tables;
	struct kernel kernel;
	unsigned boot;          /* number of the boot that is under way */
	uint64_t boot_ns;       /* when it began */
	bool kexec;             /* the kernel is about to start another one */
	size_t wakes;           /* how often the guest was woken from RAM; written by vCPU 0 */

	struct value_place value_place, rip_place; /* under `lock` */

	struct stats *stats;
	char *inside; /* what of QEMU's inside is used, for META */
	/*
	 * QEMU counts instructions itself (-icount) and so cuts blocks short at
	 * times: each has to tell when it begins, for where it is cannot be
	 * concluded from an address.
	 */
	bool cuts_blocks;
	uint64_t kernel_stack;   /* bytes of a task's: as usual on that CPU, until a kernel is found that has others */
	bool guest_goes_on;      /* another program started the guest: it is not ended for the recording's sake */
	bool takes_turns;        /* several vCPUs share a thread: qemu_inside.h, turns_tell() */
	/* under takes_turns: records are put for other vCPUs than the one that QEMU says runs */
	bool puts_for_others;
	bool counts_time;        /* guest_time.h: QEMU's clock is time_ahead + instructions << icount_shift */
	unsigned icount_shift;
	uint64_t time_ahead, time_strays; /* strays: how many times it was not, by more than a little */
	int64_t time_drift;      /* by how much QEMU's clock was later, all in all, as halts began */
	/* the latest time that was read from QEMU's clock, and what is added to it since a snapshot put it back */
	uint64_t latest_ns, shift_ns;
	uint64_t host_begin_ns;  /* the host's clock as the recording began, if it has to do; else 0 */
	uint64_t stores_dropped; /* under `lock` */
};

extern struct recorder recorder;

/* Is nothing recorded, since the span that was asked for has not begun, or is over (waiting.h)? From any thread. */
static inline bool recorder_waits(void)
{
	return __atomic_load_n(&recorder.waits, __ATOMIC_ACQUIRE);
}

/* The vCPU's element; valid in its own thread. */
static inline struct vcpu *vcpu_get(unsigned index)
{
	return recorder.vcpus[index];
}

/*
 * Find where the scoreboard is. QEMU moves it while no vCPU executes, and then forgets all translated code: the first
 * block that is executed afterwards is translated first. So it is enough to ask in each translation. Under `lock`.
 */
void recorder_find_live(void);

/* translate.c: decide what to watch in a new block. */
void translate_block(struct qemu_plugin_tb *tb);
/* Watch that place from when it is translated: a conditional jump of another function leads to it. Under `lock`. */
void translate_expect(uint64_t addr);
/* The number of a site, made if it is new; 0 when there is no room for more. Under `lock`. */
uint32_t translate_site(const struct site *site);

/* drain.c */
bool drain_start(int fd, const struct meta *config);
void drain_finish(void);
/* Queue what a chunk of that type is to hold: META, TASKS, CODE, FILES or TEXTS. From any thread. */
void drain_put(enum chunk_type type, const struct buf *payload);
/* Likewise FACTS or TEXTS of what happened at that time: a flight recorder forgets them with the events. */
void drain_put_beside(enum chunk_type type, const struct buf *payload, uint64_t ns);
/* The kernel was found: its symbols are to be written. Under `lock`. */
void drain_symbols(const struct symtab *tab);
/*
 * Some vCPU 0's instruction entered the kernel image's own loader, at that time. Of what is told of a boot, the first
 * counts.
 */
void drain_decompressor(uint64_t insns, uint64_t ns);
/* A boot begins with what the vCPUs' rings get from now on. `told`: when its kernel's loader began has been told. */
void drain_boot(bool told);
/* Wait until all records that the vCPUs have written are drained. No vCPU runs meanwhile. */
void drain_catch_up(void);

#endif
