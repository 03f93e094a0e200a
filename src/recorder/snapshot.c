/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot.h"

#include <string.h>

#include "boot.h"
#include "fact_readers.h"
#include "guest/maple.h"
#include "guest_code.h"
#include "kernel_width.h"
#include "structures.h"
#include "tasks.h"
#include "watch_put.h"

enum {
	/* lists in the guest's memory may be damaged, and lead round in circles */
	TASKS_MAX = 1 << 16,
	MAPPINGS_MAX = 1 << 16,
	LIST_MAX = 1 << 14,
	COMMAND_LINE = 2048,
	COMM_LEN = 16,         /* TASK_COMM_LEN, include/linux/sched.h */
};

/* CPU_ENTRY_AREA_RO_IDT_VADDR, arch/x86/include/asm/pgtable_areas.h: where Linux has it for all CPUs, since 4.15. */
#define LINUX_IDT 0xfffffe0000000000u

/* An entry of a list: its structure's address. */
typedef void list_fn(struct vcpu *v, unsigned cpu, uint64_t structure);

static uint64_t pointer_at(struct vcpu *v, uint64_t addr)
{
	uint64_t value = 0;

	if (!addr || !guest_read(&v->regs, addr, &value, guest_word()))
		return 0;
	return guest_address(value);
}

/* All structures in a struct list_head, in which their member has its place. */
static void each_of(struct vcpu *v, unsigned cpu, uint64_t head, enum member node, size_t max, list_fn *fn)
{
	uint64_t at = pointer_at(v, head);

	if (structure_at(node) == MEMBER_UNKNOWN)
		return;
	for (size_t i = 0; i < max && at && at != head; i++) {
		uint64_t next = pointer_at(v, at);

		fn(v, cpu, at - (uint64_t)structure_at(node));
		at = next;
	}
}

static uint64_t function_at(const char *name)
{
	const struct kernel *k = &recorder.kernel;

	for (size_t i = 0; i < k->tab.count; i++)
		if (!strcmp(symtab_name(&k->tab, (long)i), name))
			return k->tab.symbols[i].addr + k->slide;
	return 0;
}

/* What the kernel puts into the descriptor tables' register, and into MSRs: arch/x86/kernel/cpu/common.c. */
void snapshot_found(void)
{
	uint64_t lstar = function_at("entry_SYSCALL_64"), cstar = function_at("entry_SYSCALL_compat"),
		 sysenter = function_at("entry_SYSENTER_compat");

	idts_add(&recorder.idts, &(struct idt){ .base = LINUX_IDT, .limit = 0xfff, .kind = IDT_64 });
	for (unsigned i = 0; i < recorder.n_vcpus; i++) {
		struct vcpu *v = vcpu_get(i);

		if (v) {
			v->lstar = lstar;
			v->cstar = cstar;
			v->sysenter = sysenter;
		}
	}
}

static bool is_task(struct vcpu *v, uint64_t task)
{
	char comm[COMM_LEN];

	return structure_at(TASK_COMM) != MEMBER_UNKNOWN && addr_is_kernel(task) &&
	       guest_read(&v->regs, task + (uint64_t)structure_at(TASK_COMM), comm, sizeof comm) &&
	       memchr(comm, 0, sizeof comm);
}

/* The task that runs on that vCPU; 0: it cannot be told. CPUs have the vCPUs' numbers. */
static uint64_t task_on(struct vcpu *v, unsigned cpu)
{
	const uint64_t *data = recorder.kernel.data;
	uint64_t own = pointer_at(v, data[DATA_PER_CPU_OFFSET] ? data[DATA_PER_CPU_OFFSET] + 8ull * cpu : 0), at, task;
	bool hot = structure_at(HOT_TASK) != MEMBER_UNKNOWN && data[DATA_PCPU_HOT];

	at = hot ? data[DATA_PCPU_HOT] + (uint64_t)structure_at(HOT_TASK) : data[DATA_CURRENT_TASK];
	task = own && at ? pointer_at(v, own + at) : 0;
	return is_task(v, task) ? task : 0;
}

static bool tell_vma(void *state, uint64_t vma)
{
	struct vcpu *v = state;

	code_mapped(v, v->index, vma);
	return true;
}

static bool read_memory(void *state, uint64_t addr, void *data, size_t n)
{
	struct vcpu *v = state;

	return guest_read(&v->regs, addr, data, n);
}

/* What a process has mapped: since 6.1 in a tree, before in a list. */
static void tell_mappings(struct vcpu *v, uint64_t mm)
{
	uint64_t vma = structure_pointer(v, mm, MM_MMAP), root;

	if (STRUCTURES_KNOWN(MM_TREE, TREE_ROOT)) {
		root = pointer_at(v, mm + (uint64_t)structure_at(MM_TREE) + (uint64_t)structure_at(TREE_ROOT));
		maple_each(&(struct maple_reader){ read_memory, tell_vma, v, MAPPINGS_MAX }, root);
		return;
	}
	for (size_t i = 0; i < MAPPINGS_MAX && vma; i++, vma = structure_pointer(v, vma, VMA_NEXT))
		tell_vma(v, vma);
}

static void tell_group(struct vcpu *v, uint64_t task)
{
	uint64_t group = structure_pointer(v, structure_pointer(v, task, TASK_CGROUPS), SET_DEFAULT_GROUP);
	struct fact fact = { .kind = FACT_CGROUP };

	if (group && read_membership(v, &fact, group, task))
		watch_tell(v, &fact);
}

static void tell_thread(struct vcpu *v, unsigned cpu, uint64_t task)
{
	tasks_meet(v, cpu, task);
}

static void tell_process(struct vcpu *v, unsigned cpu, uint64_t task)
{
	uint64_t mm = structure_pointer(v, task, TASK_MM), signal = structure_pointer(v, task, TASK_SIGNAL);

	tasks_meet(v, cpu, task);
	if (signal && structure_at(SIGNAL_THREADS) != MEMBER_UNKNOWN)
		each_of(v, cpu, signal + (uint64_t)structure_at(SIGNAL_THREADS), TASK_THREAD_NODE, TASKS_MAX,
			tell_thread);
	if (mm)
		tell_mappings(v, mm);
	tell_group(v, task);
}

static void tell_command_line(struct vcpu *v)
{
	char text[COMMAND_LINE];
	uint64_t addr = pointer_at(v, recorder.kernel.data[DATA_COMMAND_LINE]);
	struct buf lines = { 0 };

	/* the early copy is not there any more */
	__atomic_store_n(&recorder.kernel.command_line, 0, __ATOMIC_RELAXED);
	if (!addr)
		return;
	structure_text(v, addr, text, sizeof text);
	pthread_mutex_lock(&recorder.lock);
	meta_put(&lines, boot_meta_key("command_line"), text);
	pthread_mutex_unlock(&recorder.lock);
	drain_put(CHUNK_META, &lines);
	buf_free(&lines);
}

/* Its own thread may tell another one meanwhile. */
static void tell_running(struct vcpu *v, unsigned cpu, unsigned other)
{
	uint64_t task = task_on(v, other), none = 0;

	if (!task)
		return;
	tasks_meet(v, cpu, task);
	__atomic_compare_exchange_n(&vcpu_get(other)->task, &none, task, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void snapshot_tell(struct vcpu *v, unsigned cpu)
{
	const uint64_t *data = recorder.kernel.data;

	if (!kernel_found(&recorder.kernel) || guest_is_narrow())
		return;
	tell_command_line(v);
	each_of(v, cpu, data[DATA_MODULES], MODULE_LIST, LIST_MAX, code_module);
	each_of(v, cpu, data[DATA_BPF_KALLSYMS], KSYM_NODE, LIST_MAX, code_bpf);
	if (is_task(v, data[DATA_INIT_TASK]) && structure_at(TASK_TASKS) != MEMBER_UNKNOWN) {
		tasks_meet(v, cpu, data[DATA_INIT_TASK]);
		each_of(v, cpu, data[DATA_INIT_TASK] + (uint64_t)structure_at(TASK_TASKS), TASK_TASKS, TASKS_MAX,
			tell_process);
	}
	for (unsigned i = 0; i < recorder.n_vcpus; i++)
		tell_running(v, cpu, i);
}
