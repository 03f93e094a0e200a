/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Proves what mapped files are, out of the memory of the processes that execute them (trace/content.h). When a file is
 * mapped its pages need not be in memory yet. So its mapping is looked at later, until enough of it was there: when its
 * process makes a system call, when a vCPU switches to it, and when it exits. A content has a number, which later
 * mappings of the same device, inode and size share if they have the same bytes.
 */
#ifndef UPTO_RECORDER_CONTENTS_H
#define UPTO_RECORDER_CONTENTS_H

#include "recorder/recorder.h"
#include "trace/code_records.h"

/* A mapping was told of, in the address space that runs. */
void contents_mapped(struct vcpu *v, const struct code_record *mapping);

/* In a callback with registers, in user code: look at what the address space that runs has to be looked at for. */
void contents_look(struct vcpu *v);

static inline void contents_syscall(struct vcpu *v)
{
	if (__builtin_expect(v->unproven != 0, 0))
		contents_look(v);
}

/* Likewise, where a vCPU switches to a task: its memory can be read already. */
void contents_switch(struct vcpu *v, uint64_t task);

/* Likewise, where the task that runs, whose address space that is, exits: for the last time. */
void contents_exit(struct vcpu *v, uint64_t mm);

/* The address space belongs to a process anew. */
void contents_forget(uint64_t mm);

/* The machine begins anew: devices and inodes are others, too. */
void contents_forget_all(void);

#endif
