/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86-64 as struct cpu_ops (cpu.h) has it. */
#include "arch/x86_operation.h"
#include "efi.h"
#include "recorder/kernel/guest_address.h"
#include "x86_watch.h"

/* CPU_ENTRY_AREA_RO_IDT_VADDR, arch/x86/include/asm/pgtable_areas.h: where Linux has it for all CPUs, since 4.15. */
#define LINUX_IDT 0xfffffe0000000000u

static void forget(void)
{
	thunks_forget(&recorder.tables.thunks);
	idts_init(&recorder.tables.idts);
}

static void forget_cuts(void)
{
	pthread_mutex_lock(&recorder.lock);
	thunks_forget_cuts(&recorder.tables.thunks);
	pthread_mutex_unlock(&recorder.lock);
}

static void reset_vcpu(struct vcpu *v)
{
	v->cpu.lstar = v->cpu.cstar = v->cpu.sysenter = v->cpu.base16 = 0;
}

static void kernel_is_found(const struct kernel *k)
{
	if (!recorder.thunk_steps && !guest_is_narrow())
		thunks_find(&recorder.tables.thunks, k);
}

/* Where vectors that many share lead to. Looked for once: names are many, and so are the stacks of a snapshot. */
static uint64_t shared_handlers[3];

/* What the kernel puts into the descriptor tables' register, and into MSRs: arch/x86/kernel/cpu/common.c. */
static void kernel_resumed(const struct kernel *k)
{
	uint64_t lstar = kernel_function_named(k, "entry_SYSCALL_64"),
		 cstar = kernel_function_named(k, "entry_SYSCALL_compat"),
		 sysenter = kernel_function_named(k, "entry_SYSENTER_compat");

	shared_handlers[0] = kernel_function_named(k, "asm_common_interrupt");
	shared_handlers[1] = kernel_function_named(k, "asm_spurious_interrupt");
	shared_handlers[2] = kernel_function_named(k, "common_interrupt");
	idts_add(&recorder.tables.idts, &(struct idt){ .base = LINUX_IDT, .limit = 0xfff, .kind = IDT_64 });
	for (unsigned i = 0; i < recorder.n_vcpus; i++) {
		struct vcpu *v = vcpu_get(i);

		if (v) {
			v->cpu.lstar = lstar;
			v->cpu.cstar = cstar;
			v->cpu.sysenter = sysenter;
		}
	}
}

static unsigned length(const uint8_t code[CODE_MAX])
{
	struct x86_operation o;

	return x86_operation_decode(0, code, CODE_MAX, &o) ? o.length : 0;
}

/* A startup interrupt has a vCPU begin at the first instruction of a page below 1 MiB: Intel SDM vol. 3, 11.4.4. */
static bool may_start(uint64_t addr)
{
	return addr < 0x100000 && !(addr & 0xfff);
}

/* What came by a vector that many share is one of them: the stack does not tell which. */
static int vector(struct vcpu *v, uint64_t handler)
{
	enum idt_kind kind;
	int found;

	for (size_t i = 0; i < sizeof shared_handlers / sizeof *shared_handlers; i++)
		if (shared_handlers[i] == handler)
			return (int)arch_x86_64.first_interrupt;
	pthread_mutex_lock(&recorder.lock);
	found = idts_handler(&recorder.tables.idts, &v->regs, handler, &kind);
	pthread_mutex_unlock(&recorder.lock);
	return found;
}

/* The last entry that begins before it. */
static uint64_t syscall_entry(const struct vcpu *v, uint64_t function)
{
	const uint64_t entries[] = { v->cpu.lstar, v->cpu.cstar, v->cpu.sysenter };
	uint64_t entry = 0;

	for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
		if (entries[i] <= function && entries[i] > entry)
			entry = entries[i];
	return entry;
}

const struct cpu_ops cpu_x86_64 = {
	.arch = &arch_x86_64,
	.narrow_arch = &arch_i386,
	.reset = 0xfffffff0u, /* Intel SDM vol. 3, 10.1.4 */
	.loader = 0x100000,   /* code32_start: Documentation/arch/x86/boot.rst */
	.forget = forget,
	.forget_cuts = forget_cuts,
	.reset_vcpu = reset_vcpu,
	.kernel_found = kernel_is_found,
	.kernel_resumed = kernel_resumed,
	.length = length,
	.may_start = may_start,
	.firmware_starts = efi_enters_kernel,
	.looks_like_function = x86_looks_like_function,
	.watch_state = x86_watch_state,
	.watch_transfer = x86_watch_transfer,
	.watch_arrival = x86_watch_arrival,
	.handler = x86_handler,
	.vector = vector,
	.syscall_entry = syscall_entry,
};
