/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86's registers, as QEMU names them, and those that mean the same on each CPU. */
#ifndef UPTO_RECORDER_CPU_REGISTERS_H
#define UPTO_RECORDER_CPU_REGISTERS_H

#include <stdint.h>

enum reg {
	/* as instructions number them */
	GUEST_RAX, GUEST_RCX, GUEST_RDX, GUEST_RBX, GUEST_RSP, GUEST_RBP, GUEST_RSI, GUEST_RDI,
	GUEST_R8, GUEST_R9, GUEST_R10, GUEST_R11, GUEST_R12, GUEST_R13, GUEST_R14, GUEST_R15,
	GUEST_RIP, GUEST_CS, GUEST_SS, GUEST_CR0, GUEST_EFER, GUEST_GS_BASE,
	/* in the middle of a block only what no arithmetic changes */
	GUEST_EFLAGS,
	/* the lower halves of the first vector registers */
	GUEST_XMM0, GUEST_XMM1, GUEST_XMM2, GUEST_XMM3, GUEST_XMM4, GUEST_XMM5,
	REGS,

	REG_SP = GUEST_RSP, REG_IP = GUEST_RIP, REG_RESULT = GUEST_RAX, REG_VECTORS = GUEST_XMM0,
	REGS_DIRECT = GUEST_RIP + 1, /* QEMU keeps those before it one behind the other, the instruction pointer last */
	REGS_NEEDED = GUEST_CR0,     /* from here on they have what no event needs: a QEMU may go without */
};

/* The registers that a function of the kernel has its first arguments in, and how many those are. */
enum { WIDE_ARGUMENTS = 6, NARROW_ARGUMENTS = 3 };
extern const enum reg wide_arguments[WIDE_ARGUMENTS], narrow_arguments[NARROW_ARGUMENTS];

extern const char *const reg_names[REGS];

/* What QEMU shows of a register while the vCPU runs code of 32 bits. */
uint64_t reg_shown_in_32bit(enum reg reg, uint64_t value);

#endif
