/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is kept of x86 itself: of each vCPU, and for all of them. */
#ifndef UPTO_RECORDER_CPU_STATE_H
#define UPTO_RECORDER_CPU_STATE_H

#include "arch/x86_insn.h"
#include "idt.h"
#include "thunks.h"

struct cpu_insn {
	struct x86_insn x;
	uint8_t length;
};

/* Of a vCPU, written in its own thread. */
struct vcpu_state {
	uint64_t iret[3];      /* what IRET popped so far … */
	uint64_t iret_slot;    /* … from here … */
	uint64_t iret_insns;   /* … at this time */
	unsigned iret_n;
	uint64_t far_ip;       /* the same for far returns and jumps */
	unsigned far_shift;
	uint64_t base16;       /* linear address of IP 0 in 16-bit code */
	uint64_t lstar, cstar; /* where syscall leads to, from 64-bit code and from 32-bit code */
	uint64_t sysenter;
	uint64_t lidt_limit;
};

/* Of all, under the recorder's `lock`. */
struct cpu_tables {
	struct idts idts;
	struct thunks thunks;
};

#endif
