/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UPTO_RECORDER_SYSCALLS_H
#define UPTO_RECORDER_SYSCALLS_H

#include "arch/arch.h"
#include "recorder/recorder.h"

/*
 * Read the strings that a system call's arguments point to, as it is made: its
 * number, then six arguments. In a vCPU's thread, in a callback with registers.
 */
void syscalls_read(struct vcpu *v, const struct syscall_abi *abi, const uint64_t call[7], uint64_t ns);

/*
 * Just before the kernel returns to user mode: read the strings that were not mapped when the call was made. The kernel
 * has faulted them in by now. Same thread and callback as above.
 */
void syscalls_returned(struct vcpu *v);

/*
 * The running task has another address space now (exec), or is about to exit: it returns from no call that it was in.
 */
void syscalls_forget(struct vcpu *v);

/* A task that does not run is no more, or another has its address now. */
void syscalls_gone(uint64_t task);

/* One task is switched from, another to. */
void syscalls_switch(struct vcpu *v, uint64_t previous, uint64_t next);

/* The machine begins anew: no task is in a call. */
void syscalls_forget_all(void);

#endif
