/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UPTO_RECORDER_SYSCALLS_H
#define UPTO_RECORDER_SYSCALLS_H

#include "recorder.h"

/*
 * Read the strings that a system call's arguments point to, as it is made: its
 * number, then six arguments. In a vCPU's thread, in a callback with registers.
 */
void syscalls_read(struct vcpu *v, const uint64_t call[7]);

/* Those that were not in memory then, the kernel has brought there meanwhile. Before it goes back to user code, likewise. */
void syscalls_returned(struct vcpu *v);

/* The address space is another now. */
void syscalls_forget(struct vcpu *v);

/* One task is switched from, another to. */
void syscalls_switch(struct vcpu *v, uint64_t previous, uint64_t next);

#endif
