/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot.h"

#include <stdio.h>
#include <string.h>

#include "guest/maple.h"
#include "recorder/boot.h"
#include "recorder/code/guest_code.h"
#include "recorder/cpu.h"
#include "recorder/kernel/fact_readers.h"
#include "recorder/kernel/kernel_argument.h"
#include "recorder/kernel/structures.h"
#include "recorder/kernel/tasks.h"
#include "recorder/says.h"
#include "recorder/watch/watch_put.h"
#include "snapshot_stacks.h"

enum {
	COMMAND_LINE = 2048,
	COMM_LEN = 16, /* TASK_COMM_LEN, include/linux/sched.h */
};


/* What is there is told in this vCPU's thread. */
struct census {
	struct vcpu *v;
	unsigned cpu;
	size_t left; /* entries of lists that are still looked at */
};

/* An entry of a list: its structure's address. */
typedef void list_fn(struct census *c, uint64_t structure);

/* May another entry be looked at? */
static bool is_left(struct census *c)
{
	return c->left && c->left--;
}

/* All structures in a struct list_head, in which their member has its place. */
static void each_of(struct census *c, uint64_t head, enum member node, list_fn *fn)
{
	uint64_t at = structure_pointer_at(c->v, head);

	if (structure_at(node) == MEMBER_UNKNOWN)
		return;
	while (at && at != head && is_left(c)) {
		uint64_t next = structure_pointer_at(c->v, at);

		fn(c, at - (uint64_t)structure_at(node));
		at = next;
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
	uint64_t offsets = recorder.kernel.data[DATA_PER_CPU_OFFSET];
	uint64_t own = structure_pointer_at(v, offsets ? offsets + 8ull * cpu : 0), task = structure_current(v, own);

	return is_task(v, task) ? task : 0;
}

static bool tell_vma(void *state, uint64_t vma)
{
	struct census *c = state;

	code_mapped(c->v, c->cpu, vma);
	return is_left(c);
}

static bool read_memory(void *state, uint64_t addr, void *data, size_t n)
{
	struct census *c = state;

	return guest_read(&c->v->regs, addr, data, n);
}

/* What a process has mapped: since 6.1 in a tree, before in a list. */
static void tell_mappings(struct census *c, uint64_t mm)
{
	uint64_t vma = structure_pointer(c->v, mm, MM_MMAP), root;

	if (STRUCTURES_KNOWN(MM_TREE, TREE_ROOT)) {
		root = structure_pointer_at(c->v,
					    mm + (uint64_t)structure_at(MM_TREE) + (uint64_t)structure_at(TREE_ROOT));
		maple_each(&(struct maple_reader){ read_memory, tell_vma, c, c->left }, root);
		return;
	}
	while (vma && tell_vma(c, vma))
		vma = structure_pointer(c->v, vma, VMA_NEXT);
}

static void tell_group(struct census *c, uint64_t task)
{
	uint64_t group = structure_pointer(c->v, structure_pointer(c->v, task, TASK_CGROUPS), SET_DEFAULT_GROUP);
	struct fact fact = { .kind = FACT_CGROUP };

	if (group && read_membership(c->v, &fact, group, task))
		watch_tell(c->v, &fact);
}

static struct buf threads; /* addresses of task_struct that were told of last */

static void tell_thread(struct census *c, uint64_t task)
{
	uint64_t last = 0;

	if (threads.len)
		memcpy(&last, threads.data + threads.len - sizeof last, sizeof last);
	tasks_meet(c->v, c->cpu, task);
	if (task != last) /* a process is the first of its own threads */
		buf_put(&threads, &task, sizeof task);
}

static void tell_process(struct census *c, uint64_t task)
{
	uint64_t mm = structure_pointer(c->v, task, TASK_MM), signal = structure_pointer(c->v, task, TASK_SIGNAL);

	tell_thread(c, task);
	if (signal && structure_at(SIGNAL_THREADS) != MEMBER_UNKNOWN)
		each_of(c, signal + (uint64_t)structure_at(SIGNAL_THREADS), TASK_THREAD_NODE, tell_thread);
	if (mm)
		tell_mappings(c, mm);
	tell_group(c, task);
}

static void tell_module(struct census *c, uint64_t module)
{
	code_module(c->v, c->cpu, module);
}

static void tell_bpf(struct census *c, uint64_t ksym)
{
	code_bpf(c->v, c->cpu, ksym);
}

static void tell_command_line(struct vcpu *v)
{
	char text[COMMAND_LINE];
	uint64_t addr = structure_pointer_at(v, recorder.kernel.data[DATA_COMMAND_LINE]);
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

/* What is in the kernel's log: kernel/printk/printk_ringbuffer.h. */
static void tell_log(struct census *c)
{
	const uint64_t number = (1ull << 62) - 1; /* DESC_ID() */
	uint64_t ring = structure_pointer_at(c->v, recorder.kernel.data[DATA_LOG]), descriptors, head;

	if (!ring || !STRUCTURES_KNOWN(LOG_DESCRIPTORS, LOG_HEAD, LOG_TAIL))
		return;
	descriptors = ring + (uint64_t)structure_at(LOG_DESCRIPTORS);
	head = structure_long(c->v, descriptors, LOG_HEAD) & number;
	for (uint64_t id = structure_long(c->v, descriptors, LOG_TAIL) & number; is_left(c); id = (id + 1) & number) {
		struct fact fact = { .kind = FACT_LOG_EARLIER };

		if (read_log_record(c->v, &fact, ring, id))
			watch_tell(c->v, &fact);
		if (id == head)
			break;
	}
}

/* The task on whose kernel stack that is; 0: it is on none's, as an interrupt's is. */
static uint64_t task_on_stack(struct vcpu *v, uint64_t sp)
{
	const uint64_t size = recorder.kernel_stack;
	uint64_t task, stack;

	for (size_t at = 0; at + sizeof task <= threads.len; at += sizeof task) {
		memcpy(&task, threads.data + at, sizeof task);
		stack = structure_pointer(v, task, TASK_STACK);
		if (stack && sp >= stack && sp - stack < size)
			return task;
	}
	return 0;
}

/*
 * The task of the vCPU that does this. In the middle of a switch the kernel's own note is of the one before: the stack
 * tells or, before that is switched, an argument of __switch_to_asm().
 */
static uint64_t own_task(struct vcpu *v)
{
	uint64_t ip = registers_read(&v->regs, REG_IP), next = kernel_argument(&v->regs, 1);
	uint64_t on_stack = task_on_stack(v, registers_read(&v->regs, REG_SP));
	uint64_t start = kernel_function_named(&recorder.kernel, recorder.cpu->arch->switch_function), end = 0;

	if (start)
		kernel_bounds(&recorder.kernel, kernel_function(&recorder.kernel, start), &start, &end);
	if (ip > start && ip < end && is_task(v, next))
		return next;
	return on_stack ? on_stack : task_on(v, v->index);
}

/* Its own thread may tell another one meanwhile. */
static void tell_running(struct census *c, unsigned other)
{
	uint64_t task = other == c->cpu ? own_task(c->v) : task_on(c->v, other), none = 0;

	if (!task)
		return;
	tell_thread(c, task);
	__atomic_compare_exchange_n(&vcpu_get(other)->task, &none, task, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* Without types, or names of data, there are no lists to be read. */
static bool has_lists(void)
{
	const uint64_t *data = recorder.kernel.data;

	return data[DATA_INIT_TASK] && STRUCTURES_KNOWN(TASK_TASKS, TASK_COMM, TASK_MM);
}

static void warn(void)
{
	recorder_says(
		"who was there before the snapshot, and what they had mapped, is not known: the kernel tells neither its types nor where "
		"its data is; --types and --symbols VMLINUX would");
}

void snapshot_tell(struct vcpu *v, unsigned cpu, size_t entries)
{
	const uint64_t *data = recorder.kernel.data;
	struct census c = { v, cpu, entries };

	if (recorder.kernel.no_linux)
		return;
	if (!kernel_found(&recorder.kernel) || guest_is_narrow() || !has_lists()) {
		warn();
		return;
	}
	threads.len = 0;
	tell_command_line(v);
	each_of(&c, data[DATA_MODULES], MODULE_LIST, tell_module);
	each_of(&c, data[DATA_BPF_KALLSYMS], KSYM_NODE, tell_bpf);
	if (is_task(v, data[DATA_INIT_TASK])) {
		tell_thread(&c, data[DATA_INIT_TASK]);
		each_of(&c, data[DATA_INIT_TASK] + (uint64_t)structure_at(TASK_TASKS), TASK_TASKS, tell_process);
	}
	for (unsigned i = 0; i < recorder.n_vcpus; i++)
		if (vcpu_get(i))
			tell_running(&c, i);
	v->unproven = 0; /* those of all processes were told here, and the memory of one can be read */
	tell_log(&c);
}

void snapshot_tell_stacks(struct vcpu *v, uint64_t gap)
{
	if (kernel_found(&recorder.kernel) && threads.len)
		snapshot_stacks_tell(v, &threads, gap);
	buf_free(&threads);
}
