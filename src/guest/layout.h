/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a kernel keeps what upto reads of it while it runs: offsets of
 * structure members, from the kernel's own BTF (Documentation/bpf/btf.rst), so
 * right for exactly that kernel and its configuration.
 */
#ifndef UPTO_GUEST_LAYOUT_H
#define UPTO_GUEST_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum member {
	TASK_PID,             /* include/linux/sched.h */
	TASK_TGID,
	TASK_COMM,
	TASK_REAL_PARENT,
	TASK_MM,
	MM_EXE_FILE,          /* include/linux/mm_types.h */
	FILE_PATH,            /* include/linux/fs.h */
	PATH_MNT,             /* include/linux/path.h */
	PATH_DENTRY,
	DENTRY_PARENT,        /* include/linux/dcache.h */
	DENTRY_NAME,
	QSTR_NAME,
	VFSMOUNT_ROOT,        /* include/linux/mount.h */
	MOUNT_MNT,            /* fs/mount.h */
	MOUNT_PARENT,
	MOUNT_MOUNTPOINT,
	MEMBERS,
};

enum { MEMBER_UNKNOWN = -1 };

struct layout {
	int32_t offset[MEMBERS]; /* in bytes; MEMBER_UNKNOWN: the kernel does not tell */
};

/* For no kernel: all members are unknown. */
void layout_init(struct layout *l);

/* Members that are missing are unknown; an error only when there is no telling at all. */
int layout_from_btf(const void *btf, size_t len, struct layout *ret, struct error *err);

/* "task_struct.pid" */
const char *layout_member(enum member member);

#endif
