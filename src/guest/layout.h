/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Offsets of the structure members that upto reads in a running kernel. They come from a description of its types (its
 * own BTF, another file's, debug information), or are learnt from the running guest (learn.h): so they are right for
 * exactly this kernel and its configuration, and what is not known is missing.
 */
#ifndef UPTO_GUEST_LAYOUT_H
#define UPTO_GUEST_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
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
	/* include/linux/mutex_types.h: task_struct, with flags in the low bits; not with PREEMPT_RT */
	MUTEX_OWNER,
	RWSEM_OWNER,          /* include/linux/rwsem.h: likewise */
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
	/* where a guest goes on from a snapshot (recorder/spans/snapshot.h): */
	TASK_TASKS,           /* list of processes */
	TASK_SIGNAL,
	TASK_STACK,
	TASK_THREAD,          /* thread_struct */
	THREAD_SP,            /* arch/x86/include/asm/processor.h */
	TASK_THREAD_NODE,     /* in the list signal_struct.thread_head */
	TASK_CGROUPS,
	SIGNAL_THREADS,       /* include/linux/sched/signal.h */
	SET_DEFAULT_GROUP,    /* include/linux/cgroup-defs.h */
	MM_TREE,              /* since 6.1: include/linux/mm_types.h */
	TREE_ROOT,            /* include/linux/maple_tree.h */
	MM_MMAP,              /* before: */
	VMA_NEXT,
	MODULE_LIST,          /* include/linux/module.h */
	LOG_HEAD,             /* struct prb_desc_ring */
	LOG_TAIL,
	LOG_TIME,             /* struct printk_info */
	BTF_MODULE_LIST,      /* struct btf_module, kernel/bpf/btf.c */
	BTF_MODULE_MODULE,
	BTF_MODULE_TYPES,
	TYPES_DATA,           /* struct btf */
	TYPES_SIZE,
	KSYM_NODE,            /* include/linux/bpf.h */
	CACHE_OBJECT_SIZE,    /* struct kmem_cache, mm/slab.h: of kernels with KASAN */
	HOT_TASK,             /* from 6.2 to 6.14: arch/x86/include/asm/current.h */
	/* where trace events are recorded (recorder/values/trace_events.h): */
	EVENT_BUFFER_FILE,    /* include/linux/trace_events.h */
	EVENT_BUFFER_ENTRY,
	EVENT_FILE_CALL,
	EVENT_CLASS,          /* struct trace_event_call */
	EVENT_TRACEPOINT,
	EVENT_OUTPUT,
	EVENT_PRINT_FORMAT,
	EVENT_DATA,           /* of system calls': struct syscall_metadata */
	OUTPUT_TYPE,          /* struct trace_event */
	SYSCALL_NUMBER,       /* include/trace/syscall.h */
	SYSCALL_N_ARGS,
	SYSCALL_TYPES,
	SYSCALL_ARGS,
	CLASS_SYSTEM,         /* struct trace_event_class */
	CLASS_PROBE,
	CLASS_FIELDS,
	FIELD_TYPE,           /* struct trace_event_fields */
	FIELD_NAME,
	FIELD_SIZE,
	FIELD_ALIGN,
	FIELD_SIGNED,
	FIELD_LEN,            /* since 6.1 */
	TRACEPOINT_NAME,      /* include/linux/tracepoint-defs.h */
	TRACEPOINT_KEY,
	TRACEPOINT_CALL,      /* static_call_tramp */
	TRACEPOINT_ITERATOR,
	TRACEPOINT_FUNCTIONS,
	TRACEPOINT_DATA,      /* struct tracepoint_func */
	MODULE_EVENTS,        /* include/linux/module.h */
	MODULE_N_EVENTS,
	MODULE_JUMPS,
	MODULE_N_JUMPS,
	MODULE_TRACEPOINTS,
	MODULE_N_TRACEPOINTS,
	MODULE_ENUMS,
	MODULE_N_ENUMS,
	REQUEST_NEXT,         /* since 5.16: include/linux/blk-mq.h */
	MEMBERS,
};

enum { MEMBER_UNKNOWN = -1 };

/* Where an offset is from. */
enum layout_source {
	LAYOUT_NOWHERE,          /* it is not known */
	LAYOUT_IMAGE,            /* BTF of the kernel's image */
	LAYOUT_TYPES,            /* the file that --types names */
	LAYOUT_VMLINUX,          /* BTF or debug information of the vmlinux that belongs to the image */
	LAYOUT_MEMORY,           /* BTF in the guest's memory */
	LAYOUT_CACHE,            /* an earlier recording of the same build learnt it */
	LAYOUT_LEARNT,           /* the running guest */
	LAYOUT_SOURCES,
};

/* Sizes of structures that stand in arrays. */
enum layout_size { SIZE_MODULE_MEMORY, SIZE_LOG_DESCRIPTOR, SIZE_LOG_INFO, SIZE_EVENT_FIELD, LAYOUT_SIZES };

struct layout {
	int32_t offset[MEMBERS];     /* in bytes; MEMBER_UNKNOWN: not known, or the kernel has no such member */
	uint32_t size[LAYOUT_SIZES]; /* in bytes; 0 likewise */
	uint8_t from[MEMBERS];       /* enum layout_source */
	bool whole;                  /* all of the kernel's types were described: what is not known is not there */
};

/* Make all members unknown. */
void layout_init(struct layout *l);

/* A member that BTF lacks is unknown, which is no error. An error means that BTF cannot be read at all. */
int layout_from_btf(const void *btf, size_t len, struct layout *ret, struct error *err);

/* The same from the debug information of an ELF file. An error: there is none, or none of a kernel. */
int layout_from_dwarf(const char *path, struct layout *ret, struct error *err);

/* From a file of any of these kinds: BTF alone, BTF in an ELF file, debug information. Errors begin with the path. */
int layout_from_file(const char *path, struct layout *ret, struct error *err);

/* Append a layout as BTF that layout_from_btf() reads, and other tools can. */
int layout_put_btf(const struct layout *l, struct buf *out, struct error *err);

/*
 * Append a layout as text without a line's end, for META's `layout`; and read it. Words that are not understood tell
 * nothing.
 */
void layout_put_text(const struct layout *l, struct buf *out);
void layout_from_text(const char *text, struct layout *ret);

/* Take over what is not known yet, as from there. */
void layout_add(struct layout *l, const struct layout *other, enum layout_source from);

/* Is anything known? */
bool layout_any(const struct layout *l);

/* "vmlinux": where an offset is from, for people and for META. */
const char *layout_source_name(enum layout_source source);

/* The structure whose size it is: "prb_desc". */
const char *layout_structure(enum layout_size size);

/* Is it normal that a kernel lacks the member, because only older or only newer kernels have it? */
bool layout_optional(enum member member);

/* "task_struct.pid"; what older kernels call it, or NULL. */
const char *layout_member(enum member member);
const char *layout_older_member(enum member member);

#endif
