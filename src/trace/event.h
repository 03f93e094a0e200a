/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events and sites, which a trace is made of. An event is one transfer of control
 * on one vCPU, or a mark such as a clock. A site is the instruction that makes a
 * transfer; it is written once.
 *
 * Clock: `insns` counts the instructions that the vCPU has retired, including the
 * one that transfers control; `ns` is guest time in nanoseconds.
 */
#ifndef UPTO_TRACE_EVENT_H
#define UPTO_TRACE_EVENT_H

#include <stdint.h>

/* INTERRUPT_RETURN, added to argument 0: it leads to another place in user code than the one that the task left. */
enum { IRET_ELSEWHERE = 1 << 16 };

/*
 * When adding a kind: also its name in event.c, its fields in codec.c, its
 * record in recorder/ and its line in docs/format.md. Numbers never change.
 */
enum event_kind {
	EVENT_NONE = 0,
	EVENT_CALL = 1,           /* direct call */
	EVENT_CALL_INDIRECT = 2,
	EVENT_RETURN = 3,
	EVENT_JUMP = 4,           /* direct jump to another function */
	EVENT_JUMP_INDIRECT = 5,
	EVENT_ARRIVE = 6,         /* control reached this place from another function by a
	                             conditional jump or by running on */
	EVENT_INTERRUPT_RETURN = 7, /* iret, whatever it is used for */
	EVENT_INTERRUPT = 8,      /* interrupt or exception entry */
	EVENT_SYSCALL = 9,
	EVENT_SYSCALL_RETURN = 10, /* sysret, sysexit */
	EVENT_HALT = 11,
	EVENT_RESUME = 12,
	EVENT_TASK_SWITCH = 13,
	EVENT_ADDRESS_SPACE = 14,
	EVENT_CLOCK = 15,
	EVENT_GAP = 16,           /* events are not here, and stacks begin anew: enum gap_arg */
	EVENT_KINDS,
	/* kinds below this one have a site; the site number of the others is their kind */
	EVENT_FIRST_SITELESS = EVENT_INTERRUPT,
};

/* Arguments of a GAP. It is the first event of its chunk (CHUNK_GAP in format.h). */
enum gap_arg {
	GAP_LOST,    /* how many events were lost; 0 if they were not asked for */
	GAP_REASON,  /* enum gap_reason */
	GAP_NUMBER,  /* 1, 2 …: gaps of all vCPUs that begin together have the same number */
	GAP_PLACE,   /* where control is behind it; 0: not known */
	GAP_TASK,    /* the task_struct that runs there; 0: not known */
	GAP_ARGS,
};

enum gap_reason {
	GAP_IS_LOST = 1,   /* the recorder could not keep up, or could not write */
	GAP_NOT_ASKED = 2, /* outside the spans that were asked for */
};

/* Site numbers below this stand for the siteless kinds. */
enum { SITE_FIRST = 32 };

enum { EVENT_ARGS = 8 };

struct event {
	enum event_kind kind;
	uint32_t site;
	uint64_t insns;
	uint64_t slot;   /* CALL…: where the return address was pushed; RETURN, INTERRUPT_RETURN:
	                    where it was read; INTERRUPT: the lowest address of the pushed frame */
	uint64_t from;   /* CALL…: the return address; JUMP…, ARRIVE: the site's address, true at run
	                    time; INTERRUPT: the interrupted address; SYSCALL: the address that it
	                    returns to; RETURN, …: 0, not known */
	uint64_t target; /* the address where control goes on; 0: the kind has none, or not known */
	/* set for kinds that carry a clock (event_has_clock()); others have none until batch_complete() */
	uint64_t ns;
	/*
	 * event_n_args() arguments; not set if the kind has none. Valid as long as the batch.
	 *
	 * INTERRUPT: vector, error code, code segment. INTERRUPT_RETURN: code segment, rax when it
	 * leads to user mode, or 0 if it surely ends no system call. SYSCALL: number, six arguments,
	 * interface (arch/arch.h). SYSCALL_RETURN: result.
	 * TASK_SWITCH: previous task, next task (addresses of task_struct).
	 * ADDRESS_SPACE: physical address of the page tables. GAP: see enum gap_arg.
	 */
	const uint64_t *args;
};

struct site {
	enum event_kind kind;
	uint8_t length;   /* of the instruction, in bytes */
	uint64_t addr;    /* of the instruction, at the place where it was first seen */
	uint64_t target;  /* of direct ones: where it leads from addr; else 0 */
};

/* Lower case, as dump prints it: "call", "interrupt-return". */
const char *event_kind_name(enum event_kind kind);

static inline int event_has_clock(enum event_kind kind)
{
	return kind >= EVENT_FIRST_SITELESS && kind != EVENT_ADDRESS_SPACE && kind != EVENT_GAP;
}

/* How many of args[] an event of the kind has. */
unsigned event_n_args(enum event_kind kind);

#endif
