/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The callbacks that translated code calls. Their userdata is a number with
 * the site in its low 24 bits; what stands above it is told at each.
 */
#ifndef UPTO_RECORDER_WATCH_H
#define UPTO_RECORDER_WATCH_H

#include "recorder/recorder.h"

enum {
	WATCH_SITE_BITS = 24,
	WATCH_OPSIZE = 1 << 24, /* the instruction has an operand-size prefix */
	WATCH_ABOVE = 32,       /* shift of a second number */
	WATCH_REG_BITS = 8,
	WATCH_PROBE_OFFSET = 10, /* of a block's bytes, above how many of its instructions are left */
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
void watch_jump_far_direct(unsigned cpu, void *data);
void watch_jump_far(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data);
void watch_return_far(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data);
void watch_jump_mem_long(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data); /* as above */
/* above: offset in its block */
void watch_jump_mem(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data);
/* as watch_return_long(), within what may be a thunk */
void watch_thunk_return(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data);
void watch_interrupt_return(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data);
void watch_lidt(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data);
void watch_single(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data); /* data: block */

/* execution callbacks before an instruction */
void watch_target(unsigned cpu, void *data);          /* data: enum reg */
void watch_jump_reg_long(unsigned cpu, void *data);   /* as above */
/* above: enum reg, and above its 8 bits the offset in its block */
void watch_jump_reg(unsigned cpu, void *data);
void watch_jump_kernel(unsigned cpu, void *data);
void watch_jump_long(unsigned cpu, void *data);       /* as above */
void watch_jump(unsigned cpu, void *data);            /* above: offset of the jump in its block */
void watch_syscall(unsigned cpu, void *data);         /* data: offset in its block of what follows it */
void watch_sysret(unsigned cpu, void *data);
void watch_sysenter(unsigned cpu, void *data);        /* likewise */
void watch_sysexit(unsigned cpu, void *data);
void watch_halt(unsigned cpu, void *data);
void watch_cr3(unsigned cpu, void *data);             /* data: enum reg */
void watch_wrmsr(unsigned cpu, void *data);
void watch_arrive(unsigned cpu, void *data);
/* above: instructions of the block from there on, 0 at its start */
void watch_arrive_user(unsigned cpu, void *data); /* behind watch_rip() */
void watch_ran_into(unsigned cpu, void *data);        /* what watch_awaited_ahead() told of */

/* execution callbacks at a block's start */
void watch_rip(unsigned cpu, void *data);
/* a thunk begins that conditional jumps lead to: a site of EVENT_JUMP_INDIRECT */
void watch_thunk_arrival(unsigned cpu, void *data);
void watch_resume(unsigned cpu, void *data);          /* data: instructions of the block */
void watch_start(unsigned cpu, void *data);           /* where a startup interrupt may lead to */
void watch_often(unsigned cpu, void *data);           /* each so many instructions: waiting.h */
void watch_shutdown(unsigned cpu, void *data);
void watch_snapshot(unsigned cpu, void *data);        /* the guest goes on from a snapshot: waiting.h */
void watch_first(unsigned cpu, void *data);           /* likewise: data: instructions of the block */
void watch_awaited(unsigned cpu, void *data);         /* data: the address; waiting.h */
void watch_awaited_arrival(unsigned cpu, void *data); /* likewise; watch_arrive() follows */
/* data: block, and whether watch_arrive() follows; watch_interrupt() does */
void watch_awaited_handler(unsigned cpu, void *data);
void watch_awaited_ahead(unsigned cpu, void *data);   /* likewise */
void watch_reset(unsigned cpu, void *data);           /* where a reset leads to; data: site */
void watch_kexec_begins(unsigned cpu, void *data);
void watch_kexec(unsigned cpu, void *data);           /* at a low address, after that; data: site */
void watch_interrupt(unsigned cpu, void *data);       /* data: block */
void watch_task_switch(unsigned cpu, void *data);
void watch_new_task(unsigned cpu, void *data);
void watch_task_name(unsigned cpu, void *data);
void watch_task_exit(unsigned cpu, void *data);
void watch_code(unsigned cpu, void *data);            /* data: struct hook */
void watch_fact(unsigned cpu, void *data);            /* likewise */
void watch_result(unsigned cpu, void *data);          /* likewise: where its function returns to */

/* QEMU tells of an interrupt or exception: struct qemu_callbacks. */
void watch_discontinuity(unsigned cpu, int type, uint64_t from, uint64_t to);

/* Where segment:offset is, of 2 << shift bytes: real mode's; protected code at low addresses is flat. */
uint64_t far_address(uint64_t cs, uint64_t ip, unsigned shift);

/* Put what was read outside a function of the kernel's. In a vCPU's thread. */
void watch_tell(struct vcpu *v, struct fact *fact);
/* The same of what is kept only with the events around it. `has_clock`: as in struct hook. */
void watch_tell_beside(struct vcpu *v, struct fact *fact, bool has_clock);
/* The same in the middle of a block, of whose instructions so many are yet to run, and without a clock. */
void watch_tell_within(struct vcpu *v, struct fact *fact, uint64_t uncounted);
/* a jump label of a trace event: its number; above: instructions of the block from there on */
void watch_event_label(unsigned cpu, void *data);
/* probes.h: number of the first one + 1; above: instructions of the block from there on */
void watch_probe(unsigned cpu, void *data);
/*
 * in a program, behind watch_rip(): the same; above: instructions, and above them (WATCH_PROBE_OFFSET) where in its
 * block it is
 */
void watch_program_probe(unsigned cpu, void *data);
void watch_program_enters(unsigned cpu, void *data);
void watch_probe_entry(unsigned cpu, void *data);     /* data: the function that begins, in which a probe is */
void watch_args(unsigned cpu, void *data);            /* arguments.h: a chosen function's number; it is entered */
/* returns.h: number of a chosen function, which jumps to another one … */
void watch_leaves(unsigned cpu, void *data);
/* … which returns; above: instructions of the block from there on */
void watch_own_return(unsigned cpu, void *data);
/* any returns, while some are left: instructions of the block from there on */
void watch_left_return(unsigned cpu, void *data);

/* Put a clock now, in the vCPU's thread between two blocks; it is returned. */
uint64_t watch_clock(unsigned cpu);

/*
 * If the vCPU was halted, it goes on. `uncounted`: instructions of the block that runs which the counter does not have
 * yet.
 */
void watch_resumes(struct vcpu *v, uint64_t uncounted);

/* int $0x80, from any code: i386's system calls. */
void watch_int80(struct vcpu *v, uint64_t target, uint64_t from);

/* The last words of a recording: every vCPU's clocks. Not in a vCPU's thread. */
void watch_finish(void);

/* If the jump to that is a thunk's that stands for what called or jumped to it, put that. */
bool watch_thunk_leaves(struct vcpu *v, uint64_t target);

/* May a return or jump be a thunk's that stands for something else? Else it is what it is. */
static inline bool watch_may_leave_thunk(const struct vcpu *v)
{
	return v->live->thunk || recorder.thunks.n_cut;
}

/* Something cut in at `from`, with that stack pointer, while a thunk ran. In the vCPU's thread. */
void watch_thunk_cut(struct vcpu *v, uint64_t from, uint64_t sp);

/* Computed jumps within a function (switch tables) are its own business: is that one? */
bool watch_stays_within(const struct site *site, uint64_t target);

#endif
