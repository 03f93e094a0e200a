/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a kernel's bytes show without its symbols, in its image or in memory: a search for things that have a form of
 * their own. Offsets are those of the bytes that are searched.
 */
#ifndef UPTO_GUEST_KERNEL_MARKS_H
#define UPTO_GUEST_KERNEL_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BANNER_MAX = 512 };

/* linux_banner (init/version-timestamp.c): "Linux version 6.12.1 (…) #1 …\n". *ret_len is without the NUL. */
bool marks_banner(const void *data, size_t len, size_t *ret_at, size_t *ret_len);

/* The first BTF with a header that fits (struct btf_header, include/uapi/linux/btf.h). */
bool marks_btf(const void *data, size_t len, size_t *ret_at, size_t *ret_len);

/*
 * __switch_to_asm() (arch/x86/entry/entry_64.S): it pushes what a callee keeps, stores the stack pointer in the task
 * that it leaves, and loads it from the one that it goes to. `narrow`: of a kernel of 32 bits (entry_32.S there).
 */
bool marks_task_switch(const void *data, size_t len, bool narrow, size_t *ret_at);

/* Where the first task, init_task (init/init_task.c), has members that its own bytes tell. */
struct first_task_marks {
	uint32_t comm, real_parent; /* offsets; 0, 0: not found */
};

/*
 * The first task of a kernel of 64 bits: its name is "swapper", and it is its own parent, real parent and group leader,
 * which are pointers in a row, with the lists of children in between. The bytes are at `addr`. In kernels that shuffle
 * members (CONFIG_RANDSTRUCT) it is not found.
 */
bool marks_first_task(const void *data, size_t len, uint64_t addr, struct first_task_marks *ret);

#endif
