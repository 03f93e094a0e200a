/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions of mapped files, out of the memory of a process when it exits: by
 * then its linker has done its work. Should the file itself be had after the
 * recording, what it tells takes the place of this.
 */
#ifndef UPTO_RECORDER_LOADED_H
#define UPTO_RECORDER_LOADED_H

#include "recorder/recorder.h"
#include "trace/code_records.h"

/* A mapping was told of. */
void loaded_mapped(const struct code_record *mapping);

/* The content of what is mapped there was found, and has that number. */
void loaded_content(uint64_t mm, uint64_t start, uint32_t number);

/* The address space belongs to a process anew: what another had mapped in it is gone. */
void loaded_forget(uint64_t mm);

/* The task that runs, whose address space that is, exits. In a callback with registers. */
void loaded_exit(struct vcpu *v, uint64_t mm);

/* The machine begins anew: nothing is mapped. */
void loaded_forget_all(void);

#endif
