/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "layout.h"

static const char *const members[MEMBERS] = {
	[TASK_PID] = "task_struct.pid",
	[TASK_TGID] = "task_struct.tgid",
	[TASK_COMM] = "task_struct.comm",
	[TASK_REAL_PARENT] = "task_struct.real_parent",
	[TASK_MM] = "task_struct.mm",
	[TASK_STATE] = "task_struct.__state",
	[MM_EXE_FILE] = "mm_struct.exe_file",
	[MM_ARG_START] = "mm_struct.arg_start",
	[MM_ARG_END] = "mm_struct.arg_end",
	[VMA_START] = "vm_area_struct.vm_start",
	[VMA_END] = "vm_area_struct.vm_end",
	[VMA_FLAGS] = "vm_area_struct.vm_flags",
	[VMA_PGOFF] = "vm_area_struct.vm_pgoff",
	[VMA_FILE] = "vm_area_struct.vm_file",
	[VMA_OPS] = "vm_area_struct.vm_ops",
	[VMA_PRIVATE] = "vm_area_struct.vm_private_data",
	[MAPPING_NAME] = "vm_special_mapping.name",
	[VMA_MM] = "vm_area_struct.vm_mm",
	[FILE_PATH] = "file.f_path",
	[FILE_INODE] = "file.f_inode",
	[INODE_NUMBER] = "inode.i_ino",
	[INODE_SIZE] = "inode.i_size",
	[INODE_SUPER] = "inode.i_sb",
	[SUPER_DEVICE] = "super_block.s_dev",
	[PATH_MNT] = "path.mnt",
	[PATH_DENTRY] = "path.dentry",
	[DENTRY_PARENT] = "dentry.d_parent",
	[DENTRY_NAME] = "dentry.d_name",
	[QSTR_NAME] = "qstr.name",
	[VFSMOUNT_ROOT] = "vfsmount.mnt_root",
	[VFSMOUNT_SUPER] = "vfsmount.mnt_sb",
	[SUPER_TYPE] = "super_block.s_type",
	[FSTYPE_NAME] = "file_system_type.name",
	[MOUNT_MNT] = "mount.mnt",
	[MOUNT_PARENT] = "mount.mnt_parent",
	[MOUNT_MOUNTPOINT] = "mount.mnt_mountpoint",
	[MOUNT_DEVNAME] = "mount.mnt_devname",
	[MODULE_NAME] = "module.name",
	[MODULE_KALLSYMS] = "module.kallsyms",
	[KALLSYMS_SYMTAB] = "mod_kallsyms.symtab",
	[KALLSYMS_NUM_SYMTAB] = "mod_kallsyms.num_symtab",
	[KALLSYMS_STRTAB] = "mod_kallsyms.strtab",
	[BPF_START] = "bpf_ksym.start",
	[BPF_END] = "bpf_ksym.end",
	[BPF_NAME] = "bpf_ksym.name",
	[PROG_TYPE] = "bpf_prog.type",
	[PROG_FUNCTION] = "bpf_prog.bpf_func",
	[PROG_JITED_LEN] = "bpf_prog.jited_len",
	[LOG_ENTRY_RING] = "prb_reserved_entry.rb",
	[LOG_ENTRY_ID] = "prb_reserved_entry.id",
	[LOG_DESCRIPTORS] = "printk_ringbuffer.desc_ring",
	[LOG_TEXTS] = "printk_ringbuffer.text_data_ring",
	[LOG_COUNT_BITS] = "prb_desc_ring.count_bits",
	[LOG_DESCS] = "prb_desc_ring.descs",
	[LOG_INFOS] = "prb_desc_ring.infos",
	[LOG_TEXTS_BITS] = "prb_data_ring.size_bits",
	[LOG_TEXTS_DATA] = "prb_data_ring.data",
	[LOG_PLACE] = "prb_desc.text_blk_lpos",
	[LOG_PLACE_BEGIN] = "prb_data_blk_lpos.begin",
	[LOG_PLACE_NEXT] = "prb_data_blk_lpos.next",
	[LOG_NUMBER] = "printk_info.seq",
	[LOG_LEN] = "printk_info.text_len",
	[LOG_FACILITY] = "printk_info.facility",
	[LOG_CALLER] = "printk_info.caller_id",
	[DEVICE_OBJECT] = "device.kobj",
	[DEVICE_INIT_NAME] = "device.init_name",
	[OBJECT_NAME] = "kobject.name",
	[DRIVER_NAME] = "device_driver.name",
	[DRIVER_BUS] = "device_driver.bus",
	[BUS_NAME] = "bus_type.name",
	[REQUEST_QUEUE] = "request.q",
	[REQUEST_FLAGS] = "request.cmd_flags",
	[REQUEST_BYTES] = "request.__data_len",
	[REQUEST_SECTOR] = "request.__sector",
	[QUEUE_DISK] = "request_queue.disk",
	[DISK_NAME] = "gendisk.disk_name",
	[WORK_FUNCTION] = "work_struct.func",
	[TIMER_FUNCTION] = "timer_list.function",
	[MUTEX_OWNER] = "mutex.owner",
	[RWSEM_OWNER] = "rw_semaphore.owner",
	[GROUP_NODE] = "cgroup.kn",
	[NODE_NAME] = "kernfs_node.name",
	[NODE_PARENT] = "kernfs_node.__parent",
	[MODULE_MEM] = "module.mem",
	[MEMORY_BASE] = "module_memory.base",
	[MEMORY_SIZE] = "module_memory.size",
	[MODULE_CORE_LAYOUT] = "module.core_layout",
	[MODULE_INIT_LAYOUT] = "module.init_layout",
	[LAYOUT_BASE] = "module_layout.base",
	[LAYOUT_TEXT_SIZE] = "module_layout.text_size",
	[REQUEST_DISK] = "request.rq_disk",
	[TASK_TASKS] = "task_struct.tasks",
	[TASK_SIGNAL] = "task_struct.signal",
	[TASK_STACK] = "task_struct.stack",
	[TASK_THREAD] = "task_struct.thread",
	[THREAD_SP] = "thread_struct.sp",
	[TASK_THREAD_NODE] = "task_struct.thread_node",
	[TASK_CGROUPS] = "task_struct.cgroups",
	[SIGNAL_THREADS] = "signal_struct.thread_head",
	[SET_DEFAULT_GROUP] = "css_set.dfl_cgrp",
	[MM_TREE] = "mm_struct.mm_mt",
	[TREE_ROOT] = "maple_tree.ma_root",
	[MM_MMAP] = "mm_struct.mmap",
	[VMA_NEXT] = "vm_area_struct.vm_next",
	[MODULE_LIST] = "module.list",
	[LOG_HEAD] = "prb_desc_ring.head_id",
	[LOG_TAIL] = "prb_desc_ring.tail_id",
	[LOG_TIME] = "printk_info.ts_nsec",
	[BTF_MODULE_LIST] = "btf_module.list",
	[BTF_MODULE_MODULE] = "btf_module.module",
	[BTF_MODULE_TYPES] = "btf_module.btf",
	[TYPES_DATA] = "btf.data",
	[TYPES_SIZE] = "btf.data_size",
	[KSYM_NODE] = "bpf_ksym.lnode",
	[CACHE_OBJECT_SIZE] = "kmem_cache.object_size",
	[HOT_TASK] = "pcpu_hot.current_task",
	[EVENT_BUFFER_FILE] = "trace_event_buffer.trace_file",
	[EVENT_BUFFER_ENTRY] = "trace_event_buffer.entry",
	[EVENT_FILE_CALL] = "trace_event_file.event_call",
	[EVENT_CLASS] = "trace_event_call.class",
	[EVENT_TRACEPOINT] = "trace_event_call.tp",
	[EVENT_OUTPUT] = "trace_event_call.event",
	[EVENT_PRINT_FORMAT] = "trace_event_call.print_fmt",
	[EVENT_DATA] = "trace_event_call.data",
	[OUTPUT_TYPE] = "trace_event.type",
	[SYSCALL_NUMBER] = "syscall_metadata.syscall_nr",
	[SYSCALL_N_ARGS] = "syscall_metadata.nb_args",
	[SYSCALL_TYPES] = "syscall_metadata.types",
	[SYSCALL_ARGS] = "syscall_metadata.args",
	[CLASS_SYSTEM] = "trace_event_class.system",
	[CLASS_PROBE] = "trace_event_class.probe",
	[CLASS_FIELDS] = "trace_event_class.fields_array",
	[FIELD_TYPE] = "trace_event_fields.type",
	[FIELD_NAME] = "trace_event_fields.name",
	[FIELD_SIZE] = "trace_event_fields.size",
	[FIELD_ALIGN] = "trace_event_fields.align",
	[FIELD_SIGNED] = "trace_event_fields.is_signed",
	[FIELD_LEN] = "trace_event_fields.len",
	[TRACEPOINT_NAME] = "tracepoint.name",
	[TRACEPOINT_KEY] = "tracepoint.key",
	[TRACEPOINT_CALL] = "tracepoint.static_call_tramp",
	[TRACEPOINT_ITERATOR] = "tracepoint.iterator",
	[TRACEPOINT_FUNCTIONS] = "tracepoint.funcs",
	[TRACEPOINT_DATA] = "tracepoint_func.data",
	[MODULE_EVENTS] = "module.trace_events",
	[MODULE_N_EVENTS] = "module.num_trace_events",
	[MODULE_JUMPS] = "module.jump_entries",
	[MODULE_N_JUMPS] = "module.num_jump_entries",
	[MODULE_TRACEPOINTS] = "module.tracepoints_ptrs",
	[MODULE_N_TRACEPOINTS] = "module.num_tracepoints",
	[MODULE_ENUMS] = "module.trace_evals",
	[MODULE_N_ENUMS] = "module.num_trace_evals",
	[REQUEST_NEXT] = "request.rq_next",
};

/* What members were called in older kernels. */
static const char *const older[MEMBERS] = {
	[TASK_STATE] = "task_struct.state",
	[NODE_PARENT] = "kernfs_node.parent",
};

bool layout_optional(enum member member)
{
	return member == QUEUE_DISK || member >= MODULE_MEM;
}

const char *layout_member(enum member member)
{
	return members[member];
}

const char *layout_older_member(enum member member)
{
	return older[member];
}

const char *layout_structure(enum layout_size size)
{
	static const char *const structures[LAYOUT_SIZES] = {
		[SIZE_MODULE_MEMORY] = "module_memory",
		[SIZE_LOG_DESCRIPTOR] = "prb_desc",
		[SIZE_LOG_INFO] = "printk_info",
		[SIZE_EVENT_FIELD] = "trace_event_fields",
	};

	return structures[size];
}

const char *layout_source_name(enum layout_source source)
{
	static const char *const names[LAYOUT_SOURCES] = {
		[LAYOUT_NOWHERE] = "not known", [LAYOUT_IMAGE] = "image",   [LAYOUT_TYPES] = "types",
		[LAYOUT_VMLINUX] = "vmlinux",   [LAYOUT_MEMORY] = "memory", [LAYOUT_CACHE] = "cache",
		[LAYOUT_LEARNT] = "learnt",
	};

	return names[source];
}

void layout_init(struct layout *l)
{
	*l = (struct layout){ 0 };
	for (int i = 0; i < MEMBERS; i++)
		l->offset[i] = MEMBER_UNKNOWN;
}

bool layout_any(const struct layout *l)
{
	for (int i = 0; i < MEMBERS; i++)
		if (l->offset[i] != MEMBER_UNKNOWN)
			return true;
	return false;
}

void layout_add(struct layout *l, const struct layout *other, enum layout_source from)
{
	for (int i = 0; i < MEMBERS; i++)
		if (l->offset[i] == MEMBER_UNKNOWN && other->offset[i] != MEMBER_UNKNOWN) {
			l->offset[i] = other->offset[i];
			l->from[i] = (uint8_t)from;
		}
	for (int i = 0; i < LAYOUT_SIZES; i++)
		if (!l->size[i])
			l->size[i] = other->size[i];
	l->whole |= other->whole;
}
