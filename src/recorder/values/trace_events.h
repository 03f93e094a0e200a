/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's trace events (include/trace/events), each a record of fields that a tracepoint has. Those that the guest
 * has enabled are taken as it makes them, where trace_event_buffer_commit() gets them. Of those that it has not, the
 * code that would make the record is interpreted (arch/x86_interpreter.h), where a jump label stands for the
 * tracepoint: the guest runs nothing of it, and takes no time for it.
 */
#ifndef UPTO_RECORDER_TRACE_EVENTS_H
#define UPTO_RECORDER_TRACE_EVENTS_H

#include "recorder/recorder.h"

/*
 * Names as event_is_meant() has them; NULL: none. `twice`: those that the guest has enabled are computed, too, so that
 * both can be compared.
 */
void trace_events_init(const char *list, bool twice);

/* The kernel was found. In vCPU 0's thread, under `lock`, where memory can be read. */
void trace_events_found(struct vcpu *v, struct buf *lines);

/* A module was loaded: its events, too. In a vCPU's thread. */
void trace_events_module(struct vcpu *v, uint64_t module);

/*
 * A system call is made: the first one shows which numbers they have, by which their events are found when the trace is
 * read (analysis/events/event_syscalls.h). In a vCPU's thread.
 */
void trace_events_syscall(struct vcpu *v);

/* What to call at the entry of a function of the kernel, and with what; NULL: nothing. Under `lock`. */
qemu_plugin_vcpu_udata_cb_t trace_events_at_entry(uint64_t addr);

/* The number of the last jump label of a chosen event at an address, + 1; 0: none is there. Under `lock`. */
uint32_t trace_events_at(uint64_t addr);

/* How many jump labels of chosen events there are. */
size_t trace_events_label_count(void);

/* The guest has ended: what of names was not found, and what could not be computed. */
void trace_events_finish(void);

#endif
