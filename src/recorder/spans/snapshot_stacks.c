/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "guest/orc.h"
#include "recorder/cpu.h"
#include "recorder/kernel/structures.h"
#include "recorder/qemu/guest_time.h"
#include "recorder/says.h"
#include "trace/stack_records.h"

enum {
#ifdef UPTO_SMALL_TABLES /* as in trace/model.h */
	TABLE_MAX = 1 << 14,
#else
	TABLE_MAX = 16 << 20,
#endif
	CALLS_MAX = 256,
	SYSCALL_VECTOR = 0x80, /* IA32_SYSCALL_VECTOR, arch/x86/include/asm/irq_vectors.h */
	/*
	 * struct inactive_task_frame, arch/x86/include/asm/switch_to.h, on top of the stack of a task that does not
	 * run
	 */
	INACTIVE_BP = 40, INACTIVE_RETURN = 48, INACTIVE_BYTES = 56,
};

/* The calls of one thread, the innermost first. */
struct unwound {
	struct stack_call calls[CALLS_MAX];
	size_t n;
	uint64_t place;
};

static bool read_memory(void *state, uint64_t addr, void *data, size_t n)
{
	struct vcpu *v = state;

	return addr_is_kernel(addr) && guest_read(&v->regs, addr, data, n);
}

/* A kernel's kinds of entries have other numbers since 6.4. */
static bool is_old(const char *banner)
{
	static const char begin[] = "Linux version ";
	char *end;
	unsigned long major, minor;

	if (!banner || strncmp(banner, begin, strlen(begin)))
		return false;
	major = strtoul(banner + strlen(begin), &end, 10);
	minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
	return major < 6 || (major == 6 && minor < 4);
}

static bool read_tables(struct vcpu *v, struct orc *ret)
{
	const uint64_t *data = recorder.kernel.data;
	uint64_t bytes = data[DATA_ORC_IPS_END] - data[DATA_ORC_IPS];

	*ret = (struct orc){ .ips_at = data[DATA_ORC_IPS], .old = is_old(recorder.kernel.banner) };
	if (!data[DATA_ORC_IPS] || !data[DATA_ORC] || data[DATA_ORC_IPS_END] < data[DATA_ORC_IPS] || bytes > TABLE_MAX)
		return false;
	structure_block(v, data[DATA_ORC_IPS], bytes, &ret->ips);
	structure_block(v, data[DATA_ORC], bytes / 4 * 6, &ret->entries);
	return ret->ips.len == bytes && ret->entries.len == bytes / 4 * 6;
}

/* Where the function begins that has the registers' instruction, or the call behind which they are; 0: none. */
static uint64_t function_of(const struct orc_registers *regs)
{
	struct kernel *k = &recorder.kernel;
	long function = kernel_function(k, regs->cut ? regs->ip : regs->ip - 1);
	uint64_t start, end;

	if (function == SYMTAB_NONE)
		return 0;
	kernel_bounds(k, function, &start, &end);
	return start;
}

static void add(struct unwound *u, enum stack_call_kind kind, uint64_t slot, uint64_t from, uint64_t target)
{
	u->calls[u->n++] = (struct stack_call){ .kind = kind, .slot = slot, .from = from, .target = target };
}

/* The kernel was entered at `function`, from where the registers are: the slot is of the address that it returns to. */
static void add_entry(struct vcpu *v, struct unwound *u, enum orc_step step, uint64_t slot, uint64_t from,
		      uint64_t function)
{
	int vector = recorder.cpu->vector(v, function);
	uint64_t entry = recorder.cpu->syscall_entry(v, function);

	if (step == ORC_USER && entry && (vector < 0 || vector == SYSCALL_VECTOR)) {
		add(u, STACK_SYSCALL, 0, from, vector < 0 ? entry : function);
		return;
	}
	add(u, STACK_INTERRUPT, slot, from, function);
	u->calls[u->n - 1].number = vector < 0 ? recorder.cpu->arch->first_interrupt : (uint64_t)vector;
}

/* False: its stack cannot be read. */
static bool unwind(struct vcpu *v, const struct orc *orc, uint64_t task, uint64_t switching, struct unwound *ret)
{
	const struct orc_memory memory = { read_memory, v };
	uint64_t sp = structure_read(v, task + (uint64_t)structure_at(TASK_THREAD), THREAD_SP, 8), slot, function;
	struct orc_registers regs = { .sp = sp + INACTIVE_BYTES };
	enum orc_step step = ORC_CALL;

	ret->n = 0;
	if (!read_memory(v, sp + INACTIVE_RETURN, &regs.ip, 8) || !read_memory(v, sp + INACTIVE_BP, &regs.bp, 8))
		return false;
	ret->place = switching;
	add(ret, STACK_CALL, sp + INACTIVE_RETURN, regs.ip, switching);
	while ((step == ORC_CALL || step == ORC_KERNEL) && (function = function_of(&regs)) && ret->n < CALLS_MAX - 2) {
		step = orc_step(orc, &memory, &regs, &slot);
		if (step == ORC_CALL)
			add(ret, STACK_CALL, slot, regs.ip, function);
		else if (step == ORC_KERNEL || step == ORC_USER)
			add_entry(v, ret, step, slot, regs.ip, function);
	}
	/* where it began, or was entered from a program, or where tables end, as the kernel's do in a module */
	add(ret, STACK_BASE, 0, 0, step == ORC_USER || !function ? regs.ip : function);
	return function || ret->n > 2;
}

static void put(const struct unwound *u, uint64_t task, uint64_t gap, uint64_t ns, struct buf *out)
{
	stack_record_put(out, &(struct stack_record){
		.gap = gap, .task = task, .since_ns = ns, .place = u->place, .n_calls = u->n,
	});
	for (size_t i = u->n; i-- > 0;) {
		struct stack_call call = u->calls[i];

		call.ns = ns;
		stack_call_put(out, &call);
	}
}

static bool runs(uint64_t task)
{
	for (unsigned i = 0; i < recorder.n_vcpus; i++)
		if (vcpu_get(i) && vcpu_get(i)->task == task)
			return true;
	return false;
}

void snapshot_stacks_tell(struct vcpu *v, const struct buf *tasks, uint64_t gap)
{
	/* it is on top of all stacks */
	uint64_t switching = kernel_function_named(&recorder.kernel, "__switch_to_asm"), ns = guest_time(v), task;
	static struct unwound unwound; /* one vCPU does this, once */
	struct buf out = { 0 };
	struct orc orc;

	if (switching && STRUCTURES_KNOWN(TASK_THREAD, THREAD_SP) && read_tables(v, &orc)) {
		for (size_t at = 0; at + sizeof task <= tasks->len; at += sizeof task) {
			memcpy(&task, tasks->data + at, sizeof task);
			if (!runs(task) && unwind(v, &orc, task, switching, &unwound))
				put(&unwound, task, gap, ns, &out);
		}
		if (out.len)
			drain_put(CHUNK_STACKS, &out);
		orc_deinit(&orc);
	} else {
		recorder_says("where threads slept before the snapshot is not known: the kernel has no ORC tables "
			      "(CONFIG_UNWINDER_ORC), or nothing tells where they are");
	}
	buf_free(&out);
}
