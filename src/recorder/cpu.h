/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the recorder has to know of the guest's CPU: a struct of operations, the registers that mean the same on each
 * CPU (REG_IP, REG_SP, REG_RESULT: cpu_registers.h), and what is kept of the CPU's state (cpu_state.h). x86 has all of
 * that in recorder/x86/. Another CPU is a folder like it, and `struct arch` (arch/arch.h).
 */
#ifndef UPTO_RECORDER_CPU_H
#define UPTO_RECORDER_CPU_H

#include "arch/arch.h"
#include "recorder/recorder.h"

enum { CODE_MAX = 16 }; /* bytes that no instruction is longer than */

struct work;

/* What may come behind an instruction. */
struct insn_flow {
	bool leads_on; /* control may get to what follows it at all, but for by an interrupt */
	bool runs_on;  /* … and other than by coming back from a call */
	/* where it is all of a block, it may be one that QEMU ran alone, from the middle of another: watch_single() */
	bool may_be_alone;
};

struct cpu_ops {
	const struct arch *arch, *narrow_arch; /* of a kernel as wide as the CPU, and of one of 32 bits */
	uint64_t reset;  /* where a CPU begins that was reset */
	uint64_t loader; /* where the kernel image's own loader begins, when firmware jumps to it; 0: it has none */

	/* Forget all tables: at the recorder's begin, and when another boot begins. Under `lock`. */
	void (*forget)(void);
	/* Where something had cut into a thunk that may have ended since, unseen. Takes `lock`. */
	void (*forget_cuts)(void);
	/* The vCPU was reset. In its thread. */
	void (*reset_vcpu)(struct vcpu *v);
	/* The kernel was found, in the thread that boots. Under `lock`. */
	void (*kernel_found)(const struct kernel *k);
	/* The same of a guest that goes on from a snapshot: nobody saw how the kernel set up the vCPUs. */
	void (*kernel_resumed)(const struct kernel *k);

	/* Bytes of the instruction that code of the CPU's own width has there; 0: none is known. From any thread. */
	unsigned (*length)(const uint8_t code[CODE_MAX]);

	/* Under translation (watch/translate.h), with `lock`: */
	/* May a vCPU that another one starts begin there? */
	bool (*may_start)(uint64_t addr);
	/* Is that the first instruction of a kernel which firmware starts as a program of its own? */
	bool (*firmware_starts)(struct registers *regs, uint64_t addr);
	/* Without symbols: does the code at that place look like a function's first? */
	bool (*looks_like_function)(uint64_t addr);
	/* Decode the instruction, and have watched how it changes the vCPU's state. */
	struct insn_flow (*watch_state)(struct work *w, uint64_t addr, uint8_t length);
	/* Have watched where it, which has been decoded, leads to. */
	void (*watch_transfer)(struct work *w, uint64_t addr);
	/* Control arrives at the block by itself: have that watched if it is no arrival. False: it is one. */
	bool (*watch_arrival)(struct work *w);
	/* Which interrupt's handler begins with the block, as struct block has it; -1: none's. */
	int (*handler)(const struct work *w);

	/* The vector that leads to a handler; -1: none. In the vCPU's thread. */
	int (*vector)(struct vcpu *v, uint64_t handler);
	/* The entry for system calls that a function of the kernel's entry code belongs to; 0: none. Likewise. */
	uint64_t (*syscall_entry)(const struct vcpu *v, uint64_t function);
};

extern const struct cpu_ops cpu_x86_64;

#endif
