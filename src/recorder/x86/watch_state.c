/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What x86's instructions change of a vCPU's state: page tables, interrupt descriptors, entries for system calls. */
#include "recorder/kernel/guest_address.h"
#include "recorder/watch/watch_put.h"
#include "watch_x86.h"

void watch_cr3(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	uint64_t cr3 = registers_read(&v->regs, (enum reg)(uintptr_t)data);

	cr3 &= 0x000ffffffffff000; /* without the process-context identifier */
	if (cr3 == v->space)
		return;
	v->space = cr3;
	PUT(v, EVENT_ADDRESS_SPACE, v->live->insns, cr3);
}

void watch_lidt(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	unsigned shift = qemu_plugin_mem_size_shift(info);
	struct idt idt;

	(void)vaddr;
	(void)data;
	if (shift == 1) {
		v->cpu.lidt_limit = value_of(info);
		return;
	}
	idt = (struct idt){ .base = value_of(info), .limit = (uint32_t)v->cpu.lidt_limit };
	idt.kind = shift == 3 ? IDT_64 : idt.base == 0 && idt.limit == 0x3ff ? IDT_REAL : IDT_32;
	pthread_mutex_lock(&recorder.lock);
	idts_add(&recorder.tables.idts, &idt);
	pthread_mutex_unlock(&recorder.lock);
}

void watch_wrmsr(unsigned cpu, void *data)
{
	enum { SYSENTER_EIP = 0x176, LSTAR = 0xc0000082u, CSTAR = 0xc0000083u };
	struct vcpu *v = vcpu_get(cpu);
	uint32_t msr = (uint32_t)registers_read(&v->regs, GUEST_RCX);
	uint64_t value;

	(void)data;
	if (msr != LSTAR && msr != CSTAR && msr != SYSENTER_EIP)
		return;
	value = (uint32_t)registers_read(&v->regs, GUEST_RAX) | registers_read(&v->regs, GUEST_RDX) << 32;
	if (msr == LSTAR)
		v->cpu.lstar = value;
	else if (msr == CSTAR)
		v->cpu.cstar = value;
	else
		v->cpu.sysenter = guest_address(value);
}
