/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's structures in guest memory, by the offsets that its BTF tells.
 * The functions below are called in a vCPU's thread, in a callback with registers.
 */
#ifndef UPTO_RECORDER_STRUCTURES_H
#define UPTO_RECORDER_STRUCTURES_H

#include "recorder.h"

enum { STRUCTURE_PATH = 4096 };

/* A member's offset, or MEMBER_UNKNOWN. */
int32_t structure_at(enum member member);

/* A member's value; 0 when it cannot be had, or the structure's address is 0. */
uint64_t structure_read(struct vcpu *v, uint64_t structure, enum member member, size_t size);
uint64_t structure_pointer(struct vcpu *v, uint64_t structure, enum member member);

/* Path of a struct file from the root of its mounts. `path` has STRUCTURE_PATH bytes; returns where in it the text begins. */
const char *structure_path(struct vcpu *v, uint64_t file, char *path);

#endif
