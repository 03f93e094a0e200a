/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hooks.h"

#include "fact_readers.h"
#include "guest_code.h"
#include "watch.h"

#define CODE(name) .watch = watch_code, .code = name
#define FACT(name, reader) .watch = watch_fact, .kind = FACT_##name, .fact = reader

const char *const feature_functions[FEATURES] = {
	[FEATURE_MODULES] = "do_init_module", [FEATURE_MODULE_NAMES] = "module_kallsyms_lookup_name",
	[FEATURE_BPF_JIT] = "bpf_jit_binary_alloc", [FEATURE_BLOCK] = "submit_bio",
	[FEATURE_CGROUPS] = "cgroup_mkdir",
};

/* perf's and BPF's functions are called whether anybody profiles or not. */
const struct hook hooks[] = {
	{ { "__switch_to_asm" }, "arch/x86/entry/entry_64.S: (prev, next)", .watch = watch_task_switch },
	{ { "wake_up_new_task" }, "kernel/sched/core.c: (task)", .watch = watch_new_task },
	{ { "perf_event_comm" }, "kernel/events/core.c: (task, exec)", .watch = watch_task_name },
	{ { "do_exit" }, "kernel/exit.c: (code)", .watch = watch_task_exit },
	{ { "module_finalize" }, "arch/x86/kernel/module.c: (file, sections, module)", CODE(code_module_file), .feature = FEATURE_MODULES },
	{ { "do_init_module" }, "kernel/module/main.c: (module)", CODE(code_module), .feature = FEATURE_MODULES },
	{ { "execmem_free", "module_memfree" }, "mm/execmem.c, before 6.10 kernel/module/main.c: (start)", CODE(code_freed), .feature = FEATURE_MODULES },
	{ { "bpf_ksym_add" }, "kernel/bpf/core.c: (ksym); programs and trampolines", CODE(code_bpf), .feature = FEATURE_BPF_JIT },
	{ { "bpf_ksym_del" }, "kernel/bpf/core.c: (ksym)", CODE(code_bpf_gone), .feature = FEATURE_BPF_JIT },
	{ { "bpf_prog_fill_jited_linfo" }, "kernel/bpf/core.c: (prog, …); also called for what has no name", CODE(code_filter), .feature = FEATURE_BPF_JIT },
	{ { "bpf_jit_free" }, "arch/x86/net/bpf_jit_comp.c: (prog)", CODE(code_filter_gone), .feature = FEATURE_BPF_JIT },
	{ { "perf_event_ksymbol" }, "kernel/events/core.c: (type, addr, len, unregister, name)", CODE(code_out_of_line), .feature = FEATURE_MODULES },
	{ { "machine_kexec" }, "arch/x86/kernel/machine_kexec_64.c: (image)", .watch = watch_kexec_begins, .optional = true },
	{ { "perf_event_mmap" }, "kernel/events/core.c: (vma)", CODE(code_mapped) },
	{ { "try_to_wake_up" }, "kernel/sched/core.c: (task, states, flags)", FACT(WAKE, read_wake), .has_clock = true },
	/* both: the first where the line may still grow, the second where it may not */
	{ { "prb_commit" }, "kernel/printk/printk_ringbuffer.c: (entry)", FACT(LOG, read_log), .has_clock = true },
	{ { "prb_final_commit" }, "kernel/printk/printk_ringbuffer.c: (entry)", FACT(LOG, read_log), .has_clock = true },
	{ { "do_one_initcall" }, "init/main.c: (function)", FACT(INITCALL, read_initcall), .has_result = true },
	{ { "console_init" }, "kernel/printk/printk.c: calls the consoles' initcalls itself", .kind = FACT_INITCALL, .calls = true },
	{ { "parse_args" }, "kernel/params.c: (doing, …)", FACT(LEVEL, read_level) },
	{ { "really_probe" }, "drivers/base/dd.c: (device, driver)", FACT(PROBE, read_probe), .has_result = true },
	{ { "path_mount" }, "fs/namespace.c: (source, path, type, flags, data)", FACT(MOUNT, read_mount), .has_result = true },
	/* mounts by fsopen(2), fsmount(2) and move_mount(2), of which path_mount() knows nothing */
	{ { "security_move_mount" }, "security/security.c: (from, to)", FACT(MOUNT, read_move_mount), .optional = true },
	{ { "do_move_mount", "do_move_mount.isra.0" }, "fs/namespace.c: (from, to, …)", .kind = FACT_MOUNT, .has_result = true, .optional = true },
	{ { "_request_firmware" }, "drivers/base/firmware_loader/main.c: (firmware, name, …)", FACT(FIRMWARE, read_firmware),
	  .has_result = true, .optional = true },
	{ { "blk_mq_start_request" }, "block/blk-mq.c: (request)", FACT(ISSUE, read_issue), .feature = FEATURE_BLOCK },
	{ { "blk_update_request" }, "block/blk-mq.c: (request, error, bytes)", FACT(COMPLETE, read_complete), .feature = FEATURE_BLOCK },
	{ { "__queue_work" }, "kernel/workqueue.c: (cpu, queue, work)", FACT(QUEUE, read_queue) },
	{ { "process_one_work" }, "kernel/workqueue.c: (worker, work)", FACT(WORK, read_work) },
	{ { "mod_timer" }, "kernel/time/timer.c: (timer, expires)", FACT(TIMER, read_timer) },
	{ { "add_timer" }, "kernel/time/timer.c: (timer)", FACT(TIMER, read_timer) },
	{ { "queue_delayed_work_on" }, "kernel/workqueue.c: (cpu, queue, work, delay)", FACT(TIMER, read_queue) },
	{ { "mod_delayed_work_on" }, "kernel/workqueue.c: (cpu, queue, work, delay)", FACT(TIMER, read_queue) },
	{ { "__mutex_lock_slowpath" }, "kernel/locking/mutex.c: (lock)", FACT(LOCK, read_mutex), .has_clock = true, .optional = true },
	{ { "__mutex_lock_interruptible_slowpath" }, "kernel/locking/mutex.c: (lock)", FACT(LOCK, read_mutex), .has_clock = true, .optional = true },
	{ { "__mutex_lock_killable_slowpath" }, "kernel/locking/mutex.c: (lock)", FACT(LOCK, read_mutex), .has_clock = true, .optional = true },
	{ { "rwsem_down_read_slowpath" }, "kernel/locking/rwsem.c: (semaphore, …)", FACT(LOCK, read_semaphore), .has_clock = true, .optional = true },
	{ { "rwsem_down_write_slowpath" }, "kernel/locking/rwsem.c: (semaphore, …)", FACT(LOCK, read_semaphore), .has_clock = true, .optional = true },
	{ { "lapic_next_event" }, "arch/x86/kernel/apic/apic.c: (counts, device)", FACT(DUE, read_due), .optional = true },
	{ { "finalize_exec" }, "fs/exec.c: (bprm); arguments are in place", FACT(ARGUMENTS, read_arguments) },
	{ { "cgroup_attach_task" }, "kernel/cgroup/cgroup.c: (group, leader, threadgroup)", FACT(CGROUP, read_cgroup), .optional = true },
	{ { "cgroup_mkdir" }, "kernel/cgroup/cgroup.c: (parent, name, mode)", FACT(GROUP, read_group), .optional = true },
	{ { "cgroup_rmdir" }, "kernel/cgroup/cgroup.c: (node)", FACT(GROUP_GONE, read_group_gone), .optional = true },
	{ { "audit_receive_msg" }, "kernel/audit.c: (buffer, message)", FACT(AUDIT, read_audit), .optional = true },
};

const size_t hooks_count = sizeof hooks / sizeof *hooks;
