/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The QEMU plugin. Three kinds of threads meet here:
 *
 *   translation (any vCPU's thread, one at a time under `lock`) decides what
 *     to watch in a block: translate.c, with idt.c, kernel.c, blocks.c
 *   execution (each vCPU's thread) writes raw records to its own ring: watch.c
 *   the drain thread turns records into chunks of the trace: drain.c
 */
#ifndef UPTO_RECORDER_RECORDER_H
#define UPTO_RECORDER_RECORDER_H

#include <pthread.h>
#include <qemu-plugin.h>

#include "blocks.h"
#include "idt.h"
#include "kernel.h"
#include "raw.h"
#include "registers.h"
#include "ring.h"
#include "stats.h"
#include "value.h"
#include "trace/meta.h"
#include "trace/sites.h"
#include "trace/texts.h"

enum { VCPUS_MAX = 1024 };

/* A system call whose strings were not in memory when it was made. */
struct unread {
	const char *kinds;    /* of its arguments; NULL: nothing is left to read */
	uint64_t insns, args[6];
	unsigned cpu;
};

/* One element of the scoreboard: the first members are written by translated code. */
struct vcpu {
	uint64_t insns;       /* retired, up to the end of the block that runs */
	uint64_t block;       /* number of the block that began last, of those that tell */
	uint64_t unwatched;   /* transfers at places that no site could be made for */
	const uint64_t *value; /* where loaded values can be read; NULL: ask QEMU, and check the place */
	const uint64_t *value_place; /* the same, once learnt; whether it is right is seen with each block of the ring */
	bool value_used;      /* values were read there since it was last checked */
	struct ring ring;
	uint64_t target;      /* of the indirect branch that is under way */
	uint64_t rip;         /* where the block that ends in a jump really began */
	uint64_t iret[3];     /* what IRET popped so far … */
	uint64_t iret_slot;   /* … from here … */
	uint64_t iret_insns;  /* … at this time */
	unsigned iret_n;
	uint64_t far_ip;      /* the same for far returns and jumps */
	unsigned far_shift;
	uint64_t single_insns;
	uint64_t base16;      /* linear address of IP 0 in 16-bit code */
	uint64_t task;        /* task_struct that runs; 0: not known */
	uint64_t space;       /* page tables, 4 kB aligned */
	uint64_t lstar;
	uint64_t sysenter;
	enum { LEFT_UNKNOWN, LEFT_BY_INTERRUPT, LEFT_BY_SYSCALL } user_left; /* how, last; by the task that runs */
	uint64_t user_from;   /* where the task that runs left user code, last; 0: not known */
	bool halted;
	bool ended;           /* the guest was powered off: what still runs is not its own doing */
	uint64_t lidt_limit;
	unsigned index;
	struct unread unread; /* of the task that runs */
	struct registers regs;
};

struct recorder {
	qemu_plugin_id_t id;
	struct qemu_plugin_scoreboard *score;
	qemu_plugin_u64 insns, block, unwatched;
	struct vcpu *vcpus[VCPUS_MAX];
	unsigned n_vcpus;
	pthread_t boot_thread;  /* that of vCPU 0, which boots */

	pthread_mutex_t lock;  /* for what translation owns: */
	struct registers translate_regs; /* of whichever vCPU translates */
	struct sites sites;
	struct map site_numbers;
	struct map call_targets;
	struct map successors;  /* places that translated code leads to by itself */
	struct map arrivals;    /* places that are watched, and why */
	uint64_t late_arrivals; /* places that should be, but were translated before that was known */
	struct blocks blocks;
	struct idts idts;
	struct kernel kernel;

	struct value_place value_place, rip_place; /* under `lock` */

	struct stats *stats;
	/* QEMU's own; NULL: not to be had */
	int64_t (*guest_clock)(int type);
	int (*shutdown_requested)(void);
	bool shut_down; /* QEMU has taken up a request for it */
	/*
	 * QEMU counts instructions itself (-icount) and so cuts blocks short at
	 * times: each has to tell when it begins, for where it is cannot be
	 * concluded from an address.
	 */
	bool cuts_blocks;
	bool drops_stores;       /* stores.h */
	uint64_t stores_dropped; /* under `lock` */
};

extern struct recorder recorder;

/* The vCPU's element; valid in its own thread. */
static inline struct vcpu *vcpu_get(unsigned index)
{
	return recorder.vcpus[index];
}

uint64_t recorder_ns(void);

/* translate.c: decide what to watch in a new block. */
void translate_block(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);

/* drain.c */
bool drain_start(int fd, const struct meta *config);
void drain_finish(void);
/* Queue what a chunk of that type is to hold: META, TASKS, CODE, FILES or TEXTS. From any thread. */
void drain_put(enum chunk_type type, const struct buf *payload);
/* The kernel was found: its symbols are to be written. Under `lock`. */
void drain_symbols(const struct symtab *tab);

#endif
