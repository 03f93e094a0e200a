/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Offsets of the structure members that upto reads in a running kernel. They come
 * from the kernel's own BTF (Documentation/bpf/btf.rst), so they are right for
 * exactly this kernel and its configuration.
 */
#ifndef UPTO_GUEST_LAYOUT_H
#define UPTO_GUEST_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum member {
	TASK_PID,             /* include/linux/sched.h */
	TASK_TGID,
	TASK_COMM,
	TASK_REAL_PARENT,
	TASK_MM,
	TASK_STATE,           /* __state; before 5.14 state */
	MM_EXE_FILE,          /* include/linux/mm_types.h */
	MM_ARG_START,
	MM_ARG_END,
	VMA_START,            /* include/linux/mm_types.h */
	VMA_END,
	VMA_FLAGS,
	VMA_PGOFF,
	VMA_FILE,
	VMA_OPS,
	VMA_PRIVATE,
	MAPPING_NAME,
	VMA_MM,
	FILE_PATH,            /* include/linux/fs.h */
	FILE_INODE,
	INODE_NUMBER,
	INODE_SIZE,
	INODE_SUPER,
	SUPER_DEVICE,
	PATH_MNT,             /* include/linux/path.h */
	PATH_DENTRY,
	DENTRY_PARENT,        /* include/linux/dcache.h */
	DENTRY_NAME,
	QSTR_NAME,
	VFSMOUNT_ROOT,        /* include/linux/mount.h */
	VFSMOUNT_SUPER,
	SUPER_TYPE,           /* include/linux/fs.h */
	FSTYPE_NAME,
	MOUNT_MNT,            /* fs/mount.h */
	MOUNT_PARENT,
	MOUNT_MOUNTPOINT,
	MOUNT_DEVNAME,
	MODULE_NAME,          /* include/linux/module.h */
	MODULE_KALLSYMS,
	KALLSYMS_SYMTAB,
	KALLSYMS_NUM_SYMTAB,
	KALLSYMS_STRTAB,
	BPF_START,            /* struct bpf_ksym, include/linux/bpf.h */
	BPF_END,
	BPF_NAME,
	PROG_TYPE,            /* struct bpf_prog, include/linux/bpf.h */
	PROG_FUNCTION,
	PROG_JITED_LEN,
	LOG_ENTRY_RING,       /* struct prb_reserved_entry, kernel/printk/printk_ringbuffer.h */
	LOG_ENTRY_ID,
	LOG_DESCRIPTORS,      /* struct printk_ringbuffer */
	LOG_TEXTS,
	LOG_COUNT_BITS,       /* struct prb_desc_ring */
	LOG_DESCS,
	LOG_INFOS,
	LOG_TEXTS_BITS,       /* struct prb_data_ring */
	LOG_TEXTS_DATA,
	LOG_PLACE,            /* struct prb_desc */
	LOG_PLACE_BEGIN,      /* struct prb_data_blk_lpos */
	LOG_PLACE_NEXT,
	LOG_NUMBER,           /* struct printk_info */
	LOG_LEN,
	LOG_FACILITY,
	LOG_CALLER,
	DEVICE_OBJECT,        /* include/linux/device.h */
	DEVICE_INIT_NAME,
	OBJECT_NAME,          /* include/linux/kobject.h */
	DRIVER_NAME,          /* include/linux/device/driver.h */
	DRIVER_BUS,
	BUS_NAME,             /* include/linux/device/bus.h */
	REQUEST_QUEUE,        /* include/linux/blk-mq.h */
	REQUEST_FLAGS,
	REQUEST_BYTES,
	REQUEST_SECTOR,
	QUEUE_DISK,           /* include/linux/blkdev.h */
	DISK_NAME,
	WORK_FUNCTION,        /* include/linux/workqueue_types.h */
	TIMER_FUNCTION,       /* include/linux/timer_types.h */
	GROUP_NODE,           /* include/linux/cgroup-defs.h */
	NODE_NAME,            /* include/linux/kernfs.h */
	NODE_PARENT,          /* __parent; before 6.15 parent */
	MODULE_MEM,           /* since 6.4: */
	MEMORY_BASE,
	MEMORY_SIZE,
	MODULE_CORE_LAYOUT,   /* before: */
	MODULE_INIT_LAYOUT,
	LAYOUT_BASE,
	LAYOUT_TEXT_SIZE,
	REQUEST_DISK,         /* before 5.17; since 5.15 the queue has it, too */
	MEMBERS,
};

enum { MEMBER_UNKNOWN = -1 };

struct layout {
	int32_t offset[MEMBERS]; /* in bytes; MEMBER_UNKNOWN: BTF does not have the member */
	uint32_t module_memory;  /* size of struct module_memory; 0: the kernel has no such structure */
	uint32_t log_descriptor, log_info; /* likewise of prb_desc and printk_info */
};

/* Make all members unknown. */
void layout_init(struct layout *l);

/* A member that BTF lacks is unknown, which is no error. An error means that BTF cannot be read at all. */
int layout_from_btf(const void *btf, size_t len, struct layout *ret, struct error *err);

/* Is it normal that a kernel lacks the member, because only older or only newer kernels have it? */
bool layout_optional(enum member member);

/* "task_struct.pid" */
const char *layout_member(enum member member);

#endif
