/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cpu_registers.h"

const char *const reg_names[REGS] = {
	"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
	"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
	"rip", "cs", "ss", "cr0", "efer", "gs_base", "eflags",
	"xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5",
};

/* The System V ABI for x86-64, 3.2.3. */
const enum reg wide_arguments[] = { GUEST_RDI, GUEST_RSI, GUEST_RDX, GUEST_RCX, GUEST_R8, GUEST_R9 };
/* -mregparm=3 (arch/x86/Makefile); the others are on the stack, behind the return address. */
const enum reg narrow_arguments[] = { GUEST_RAX, GUEST_RDX, GUEST_RCX };

/* target/i386/gdbstub.c */
uint64_t reg_shown_in_32bit(enum reg reg, uint64_t value)
{
	return reg < GUEST_R8 || reg == GUEST_RIP ? (uint32_t)value : 0;
}
