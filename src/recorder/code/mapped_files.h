/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that processes have mapped to execute them: which they are (contents.h), and where they are not known, their
 * functions (loaded.h).
 */
#ifndef UPTO_RECORDER_MAPPED_FILES_H
#define UPTO_RECORDER_MAPPED_FILES_H

#include "recorder/recorder.h"
#include "trace/code_records.h"

/* A mapping was told of, in the address space that runs. */
void mapped_files_add(struct vcpu *v, const struct code_record *mapping);

/* The task that runs, whose address space that is, exits: for the last time. In a callback with registers. */
void mapped_files_exit(struct vcpu *v, uint64_t mm);

/* The address space belongs to a process anew: what another had mapped in it is gone. */
void mapped_files_forget(uint64_t mm);

/* The machine begins anew: nothing is mapped, and devices and inodes are others. */
void mapped_files_forget_all(void);

#endif
