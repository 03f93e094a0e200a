/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the kernel's structures in guest memory, by the offsets in its BTF. The
 * functions below are called in a vCPU's thread, in a callback with registers.
 */
#ifndef UPTO_RECORDER_STRUCTURES_H
#define UPTO_RECORDER_STRUCTURES_H

#include "recorder/recorder.h"

enum { STRUCTURE_PATH = 4096 };

/* A member's offset, or MEMBER_UNKNOWN. */
int32_t structure_at(enum member member);

/* Is it known where the kernel has all of these members? */
#define STRUCTURES_KNOWN(...) \
	structures_known((enum member[]){ __VA_ARGS__ }, sizeof((enum member[]){ __VA_ARGS__ }) / sizeof(enum member))
bool structures_known(const enum member *members, size_t n);

/* A member's value; 0 if it cannot be read, or if the structure's address is 0. */
uint64_t structure_read(struct vcpu *v, uint64_t structure, enum member member, size_t size);
uint64_t structure_pointer(struct vcpu *v, uint64_t structure, enum member member);
/* The pointer that is there; 0 if it cannot be read, or for address 0. */
uint64_t structure_pointer_at(struct vcpu *v, uint64_t addr);
/* The same of a long, which is no address. */
uint64_t structure_long(struct vcpu *v, uint64_t structure, enum member member);

/* The task_struct that a CPU runs, as the kernel has it; 0: not known. `own`: where that CPU's own data lies. */
uint64_t structure_current(struct vcpu *v, uint64_t own);

/* Read a string in guest memory, as far as there is room and the memory can be read. Returns `text`. */
const char *structure_text(struct vcpu *v, uint64_t addr, char *text, size_t size);

/* Append guest memory from there on, up to `max` bytes in all, or up to the first page that is missing. */
void structure_block(struct vcpu *v, uint64_t addr, uint64_t max, struct buf *out);

/*
 * Read the path of a struct path, from the root of its mounts; "": it is that root, or cannot be read. Otherwise as
 * below.
 */
const char *structure_path_at(struct vcpu *v, uint64_t where, char *path);

/*
 * Read the path of a struct file, from the root of its mounts. `path` has STRUCTURE_PATH bytes. Returns where the text
 * begins in it.
 */
const char *structure_path(struct vcpu *v, uint64_t file, char *path);

#endif
