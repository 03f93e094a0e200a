/* SPDX-License-Identifier: GPL-2.0-or-later */
/* System calls: where they lead to, their numbers, arguments and results. */
#include "arch/arch.h"
#include "arch/x86_syscalls.h"
#include "recorder/code/contents.h"
#include "recorder/kernel/guest_address.h"
#include "recorder/kernel/syscalls.h"
#include "recorder/qemu/guest_time.h"
#include "recorder/values/trace_events.h"
#include "recorder/watch/watch_put.h"
#include "watch_x86.h"

/* A system call that is made: where it leads to and comes back to, its number, and where its six arguments are. */
struct made {
	enum x86_abi abi;
	uint64_t target, from, nr;
	enum reg args[6];
	bool stashed;    /* the sixth argument is in memory, where its register points */
};

static uint64_t argument(struct vcpu *v, const struct made *call, unsigned i)
{
	uint64_t value = registers_read(&v->regs, call->args[i]);
	uint32_t word = 0;

	if (call->abi == X86_ABI_I386)
		value = (uint32_t)value;
	if (!call->stashed || i < 5)
		return value;
	guest_read(&v->regs, value, &word, sizeof word); /* what the kernel cannot read either is no argument */
	return word;
}

static void put_syscall(struct vcpu *v, const struct made *call)
{
	const struct syscall_abi *abi = arch_abi(&arch_x86_64, call->abi);
	uint64_t words[11] = { call->target, guest_time(v), call->from, call->nr };

	v->user_left = LEFT_BY_SYSCALL;
	/* it goes back to where a signal came, which only the kernel knows */
	v->user_from = syscall_role(abi, call->nr) == SYSCALL_SIGRETURN ? 0 : call->from;
	for (unsigned i = 0; i < 6; i++)
		words[4 + i] = argument(v, call, i);
	words[10] = call->abi;
	put(v, EVENT_SYSCALL, v->live->insns, words, 11);
	syscalls_read(v, abi, words + 3, words[1]);
	contents_syscall(v);
	trace_events_syscall(v);
}

/*
 * Fast calls of 32-bit code come back to where the vDSO wants it, which is behind the int $0x80
 * that stands behind them there, for CPUs without them: arch/x86/entry/vdso/vdso32/system_call.S.
 */
static uint64_t landing_pad(struct vcpu *v, uint64_t next)
{
	static const uint8_t int80[2] = { 0xcd, 0x80 };
	uint8_t bytes[2];

	return guest_read(&v->regs, next, bytes, sizeof bytes) && !memcmp(bytes, int80, sizeof bytes)
		       ? next + sizeof bytes
		       : 0;
}

/* __USER32_CS, arch/x86/include/asm/segment.h; segments that programs make themselves have no 64-bit code. */
static bool is_32bit(struct vcpu *v)
{
	enum { USER32_CS = 0x23, LOCAL_TABLE = 4 };
	uint64_t cs = registers_read(&v->regs, GUEST_CS) & 0xffff;

	return cs == USER32_CS || cs & LOCAL_TABLE;
}

/* arch/x86/entry/entry_64_compat.S, entry_SYSCALL_compat */
static void put_syscall_32(struct vcpu *v, uint64_t next)
{
	put_syscall(v, &(struct made){
		.abi = X86_ABI_I386, .target = v->cpu.cstar, .from = landing_pad(v, next),
		.nr = (uint32_t)registers_read(&v->regs, GUEST_RAX),
		.args = { GUEST_RBX, GUEST_RBP, GUEST_RDX, GUEST_RSI, GUEST_RDI, GUEST_RSP }, .stashed = true,
	});
}

void watch_syscall(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	uint64_t next = v->rip + (uintptr_t)data, nr = registers_read(&v->regs, GUEST_RAX);

	if (next <= UINT32_MAX && is_32bit(v))
		put_syscall_32(v, next);
	else
		put_syscall(v, &(struct made){
			.abi = (uint32_t)nr >> 30 == 1 ? X86_ABI_X32 : X86_ABI_64, .target = v->cpu.lstar, .from = next,
			.nr = nr,
			.args = { GUEST_RDI, GUEST_RSI, GUEST_RDX, GUEST_R10, GUEST_R8, GUEST_R9 },
		});
}

/* entry_SYSENTER_compat, there too: whatever code makes the call, it is i386's. */
void watch_sysenter(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);

	put_syscall(v, &(struct made){
		.abi = X86_ABI_I386, .target = v->cpu.sysenter, .from = landing_pad(v, v->rip + (uintptr_t)data),
		.nr = (uint32_t)registers_read(&v->regs, GUEST_RAX),
		.args = { GUEST_RBX, GUEST_RCX, GUEST_RDX, GUEST_RSI, GUEST_RDI, GUEST_RBP }, .stashed = true,
	});
}

void watch_sysret(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	uint64_t target = registers_read(&v->regs, GUEST_RCX);

	(void)data;
	syscalls_returned(v);
	PUT(v, EVENT_SYSCALL_RETURN, v->live->insns, target, guest_time(v), registers_read(&v->regs, GUEST_RAX));
}

void watch_sysexit(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	uint64_t target = registers_read(&v->regs, GUEST_RDX);

	(void)data;
	syscalls_returned(v);
	PUT(v, EVENT_SYSCALL_RETURN, v->live->insns, target, guest_time(v), registers_read(&v->regs, GUEST_RAX));
}

void watch_int80(struct vcpu *v, uint64_t target, uint64_t from)
{
	put_syscall(v, &(struct made){
		.abi = X86_ABI_I386, .target = target, .from = from,
		.nr = (uint32_t)registers_read(&v->regs, GUEST_RAX),
		.args = { GUEST_RBX, GUEST_RCX, GUEST_RDX, GUEST_RSI, GUEST_RDI, GUEST_RBP },
	});
}
