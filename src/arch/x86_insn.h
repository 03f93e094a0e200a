/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decodes the x86 instructions that matter to a recording: instructions that
 * transfer control, stop the CPU, or set up where control will go (Intel SDM vol. 2,
 * AMD APM vol. 3).
 */
#ifndef UPTO_ARCH_X86_INSN_H
#define UPTO_ARCH_X86_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum x86_kind {
	X86_OTHER,
	X86_CALL,       /* direct, near */
	X86_CALL_REG,
	X86_CALL_MEM,
	X86_CALL_FAR,
	X86_RET,
	X86_RET_FAR,
	X86_JUMP,       /* direct, unconditional */
	X86_JUMP_COND,
	X86_JUMP_REG,
	X86_JUMP_MEM,
	X86_JUMP_FAR,     /* through memory */
	X86_JUMP_FAR_DIRECT,
	X86_SYSCALL,
	X86_SYSRET,
	X86_SYSENTER,
	X86_SYSEXIT,
	X86_IRET,
	X86_HALT,       /* hlt, mwait */
	X86_LIDT,
	X86_MOV_CR,     /* to a control register */
	X86_WRMSR,
	X86_OUT,        /* to a port */
};

struct x86_insn {
	enum x86_kind kind;
	int32_t disp;     /* direct branches: target - address of the next instruction */
	uint8_t reg;      /* CALL_REG, JUMP_REG, MOV_CR: the general register, 0 (rax) … 15 */
	uint8_t cr;       /* MOV_CR: number of the control register */
	uint16_t segment; /* JUMP_FAR_DIRECT: the selector, and the offset in it */
	uint32_t offset;
	bool opsize;      /* has the operand-size prefix */
	bool repeats;     /* a string instruction with a repeat prefix */
};

/*
 * Decode one instruction of exactly `len` bytes. The CPU's mode is not needed: the
 * length shows whether 0x40…0x4f was a REX prefix, and how wide a displacement is.
 */
struct x86_insn x86_decode(const uint8_t *bytes, size_t len);

#endif
