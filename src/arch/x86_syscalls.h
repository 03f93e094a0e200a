/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UPTO_ARCH_X86_SYSCALLS_H
#define UPTO_ARCH_X86_SYSCALLS_H

#include <stdint.h>

/* The name of an x86-64 system call, or NULL. */
const char *x86_syscall_name(uint64_t nr);

#endif
