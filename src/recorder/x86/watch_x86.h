/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The callbacks of x86's instructions, as those of watch.h. */
#ifndef UPTO_RECORDER_WATCH_X86_H
#define UPTO_RECORDER_WATCH_X86_H

#include "recorder/watch/watch.h"

enum {
	WATCH_OPSIZE = 1 << 24, /* the instruction has an operand-size prefix */
	WATCH_REG_BITS = 8,
	/*
	 * jumps in 64-bit user code, above the site: offset in its page (12 bits), offset in its block (16), enum reg
	 */
	WATCH_LONG_PAGE = 24, WATCH_LONG_OFFSET = 36, WATCH_LONG_REG = 52,
};

/* memory callbacks; _long: of 64-bit code without an operand-size prefix */
void watch_call_kernel(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data);
/* of a kernel of 32 bits */
void watch_call_narrow(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data);
void watch_call_long(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data);
void watch_call(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data);
void watch_call_indirect(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data);
void watch_call_far(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data);
void watch_return(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data);
void watch_return_long(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data);
void watch_return_far(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data);
void watch_jump_far(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data);
/* as watch_jump_reg_long() */
void watch_jump_mem_long(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data);
/* above: offset in its block */
void watch_jump_mem(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data);
/* as watch_return_long(), within what may be a thunk */
void watch_thunk_return(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data);
void watch_interrupt_return(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data);
void watch_lidt(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data);

/* execution callbacks before an instruction */
void watch_target(unsigned cpu, void *data);          /* data: enum reg */
void watch_jump_reg_long(unsigned cpu, void *data);   /* WATCH_LONG_…, as of the next two */
void watch_jump_long(unsigned cpu, void *data);
/* above: enum reg, and above its 8 bits the offset in its block */
void watch_jump_reg(unsigned cpu, void *data);
void watch_jump_kernel(unsigned cpu, void *data);
void watch_jump(unsigned cpu, void *data);            /* above: offset of the jump in its block */
void watch_jump_far_direct(unsigned cpu, void *data);
void watch_syscall(unsigned cpu, void *data);         /* data: offset in its block of what follows it */
void watch_sysret(unsigned cpu, void *data);
void watch_sysenter(unsigned cpu, void *data);        /* as watch_syscall() */
void watch_sysexit(unsigned cpu, void *data);
void watch_cr3(unsigned cpu, void *data);             /* data: enum reg */
void watch_wrmsr(unsigned cpu, void *data);

/* at a block's start: a thunk begins that conditional jumps lead to; a site of EVENT_JUMP_INDIRECT */
void watch_thunk_arrival(unsigned cpu, void *data);

/* int $0x80, from any code: i386's system calls. */
void watch_int80(struct vcpu *v, uint64_t target, uint64_t from);

/* Where segment:offset is, of 2 << shift bytes: real mode's; protected code at low addresses is flat. */
uint64_t far_address(uint64_t cs, uint64_t ip, unsigned shift);

/* Computed jumps within a function (switch tables) are its own business: is that one? */
bool watch_stays_within(const struct site *site, uint64_t target);

/* If the jump to that is a thunk's that stands for what called or jumped to it, put that. */
bool watch_thunk_leaves(struct vcpu *v, uint64_t target);

/* May a return or jump be a thunk's that stands for something else? Else it is what it is. */
static inline bool watch_may_leave_thunk(const struct vcpu *v)
{
	return v->live->thunk || recorder.tables.thunks.n_cut;
}

/* Something cut in at `from`, with that stack pointer, while a thunk ran. In the vCPU's thread. */
void watch_thunk_cut(struct vcpu *v, uint64_t from, uint64_t sp);

#endif
