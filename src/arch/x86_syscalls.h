/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The system calls of x86-64 kernels, for each of their three interfaces. */
#ifndef UPTO_ARCH_X86_SYSCALLS_H
#define UPTO_ARCH_X86_SYSCALLS_H

#include <stdint.h>

/* Numbers of the interfaces in a trace. They never change. */
enum x86_abi {
	X86_ABI_64,
	X86_ABI_I386, /* int $0x80 from any code; sysenter; syscall from 32-bit code */
	X86_ABI_X32,  /* syscall, with X32_SYSCALL_BIT in the number */
};

/* __X32_SYSCALL_BIT: arch/x86/include/uapi/asm/unistd.h. */
enum { X32_SYSCALL_BIT = 0x40000000 };

/* Name of a system call, or NULL. The kernel looks at the low 32 bits of the number. */
const char *x86_syscall_name(uint64_t nr);
const char *i386_syscall_name(uint64_t nr);
const char *x32_syscall_name(uint64_t nr);

/* A kind (syscall_args.h) for each argument, in order; NULL: the arguments are not known. */
const char *x86_syscall_args(uint64_t nr);
const char *i386_syscall_args(uint64_t nr);
const char *x32_syscall_args(uint64_t nr);

#endif
