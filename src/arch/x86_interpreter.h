/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Executes code of the guest's outside the guest: on a copy of a vCPU's registers, reading its memory, and keeping what
 * is written to itself. So it is known what code would compute that the guest does not run, and the guest knows nothing
 * of it. Only what a compiler makes of plain kernel code is understood: 64-bit code, no floating point, no devices.
 * What is not understood, cannot be read, or takes too long ends it; nothing is guessed.
 */
#ifndef UPTO_ARCH_X86_INTERPRETER_H
#define UPTO_ARCH_X86_INTERPRETER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct x86_interpreter;

enum x86_register {
	X86_RAX,
	X86_RCX,
	X86_RDX,
	X86_RBX,
	X86_RSP,
	X86_RBP,
	X86_RSI,
	X86_RDI,
	X86_R8,
	X86_R9,
	X86_R10,
	X86_R11,
	X86_R12,
	X86_R13,
	X86_R14,
	X86_R15,
	X86_REGISTERS,
};

/* What a vCPU's state is, as far as it is needed. Flags are those that conditions ask for. */
struct x86_state {
	uint64_t registers[X86_REGISTERS];
	uint64_t rip;
	uint64_t fs_base, gs_base;
	uint64_t flags; /* as in RFLAGS */
};

/*
 * Addresses from here on, which no CPU accepts (they are not canonical), belong to whoever interprets: they read as 0
 * until something is written there.
 */
#define X86_SCRATCH UINT64_C(0x7e57000000000000)
#define X86_SCRATCH_SIZE UINT64_C(0x100000)

enum x86_end {
	X86_GOES_ON,
	X86_STOPPED,        /* a callback said so */
	X86_LEFT,           /* a return from the function that it began in, or the address that was given is reached */
	X86_NOT_UNDERSTOOD, /* an instruction; rip is at it */
	X86_NOT_READ,       /* memory */
	X86_TOO_LONG,       /* too many instructions, or more memory than there is room for */
};

/* What to do at a call, or a jump that leaves what is known. */
enum x86_answer {
	X86_GO,     /* interpret what it leads to */
	X86_RETURN, /* it has been done: go on behind it. The callback has set the result */
	X86_STOP,
};

struct x86_interpreter_calls {
	/* Read guest memory, all of it or nothing. */
	bool (*read)(void *context, uint64_t addr, void *data, size_t n);
	/* Control is about to get to `target` by a call or a jump out of sight; registers are as at its first
	 * instruction. */
	enum x86_answer (*call)(void *context, struct x86_interpreter *x, uint64_t target);
	/* An instruction that does nothing (NOP), which may stand for a jump: where it leads to; 0: on; 1: stop here.
	 */
	uint64_t (*nop)(void *context, struct x86_interpreter *x, uint64_t addr);
};

struct x86_interpreter *x86_interpreter_new(const struct x86_interpreter_calls *calls);
void x86_interpreter_free(struct x86_interpreter *x);

/* Begin anew: nothing is written yet, and what was read is forgotten. `back`: where it ends, too; 0: nowhere. */
void x86_interpreter_begin(struct x86_interpreter *x, const struct x86_state *state, uint64_t back, void *context);

/* Run up to an end. It may be called again to go on behind X86_STOPPED. */
enum x86_end x86_interpreter_run(struct x86_interpreter *x);

/* Has the code read what only the CPU itself knows (its time stamp counter)? Then what depends on that is not known. */
bool x86_interpreter_has_guessed(const struct x86_interpreter *x);

/* The instruction that control is at, as assemblers call it; "?": it cannot be read. */
const char *x86_interpreter_mnemonic(struct x86_interpreter *x);

struct x86_state *x86_interpreter_state(struct x86_interpreter *x);

/* Memory as the code would see it. False: it cannot be read, or there is no room. */
bool x86_interpreter_load(struct x86_interpreter *x, uint64_t addr, void *data, size_t n);
bool x86_interpreter_store(struct x86_interpreter *x, uint64_t addr, const void *data, size_t n);

#endif
