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
	WATCH_ABOVE = 32,       /* shift of a second number */
	WATCH_PROBE_OFFSET = 10, /* of a block's bytes, above how many of its instructions are left */
};

void watch_single(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data); /* data: block */

void watch_halt(unsigned cpu, void *data);
void watch_arrive(unsigned cpu, void *data);
/* above: instructions of the block from there on, 0 at its start */
void watch_arrive_user(unsigned cpu, void *data); /* behind watch_rip() */
void watch_ran_into(unsigned cpu, void *data);        /* what watch_awaited_ahead() told of */

/* execution callbacks at a block's start */
void watch_rip(unsigned cpu, void *data);
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
void watch_suspended(void);                           /* the guest has, to RAM; in no vCPU's thread */
void watch_woken(unsigned cpu, void *data);           /* at the first function of the kernel behind that */
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
void watch_may_leave(unsigned cpu, void *data); /* likewise, if it does not jump within itself */
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

/* The last words of a recording: every vCPU's clocks. Not in a vCPU's thread. */
void watch_finish(void);

#endif
