/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Read what a function of the kernel is about to do, at its entry, from its arguments and the structures that they
 * point to. Each is called in the vCPU's thread, in a callback with registers; texts stay valid until the next call in
 * this thread. False: nothing is to be told.
 */
#ifndef UPTO_RECORDER_FACT_READERS_H
#define UPTO_RECORDER_FACT_READERS_H

#include "recorder/recorder.h"
#include "trace/facts.h"

bool read_wake(struct vcpu *v, struct fact *fact);
bool read_log(struct vcpu *v, struct fact *fact);

/* The record of that number of a struct printk_ringbuffer. False: it cannot be read, or has no text. */
bool read_log_record(struct vcpu *v, struct fact *fact, uint64_t ring, uint64_t id);
bool read_initcall(struct vcpu *v, struct fact *fact);
bool read_level(struct vcpu *v, struct fact *fact);
bool read_probe(struct vcpu *v, struct fact *fact);
bool read_mount(struct vcpu *v, struct fact *fact);
bool read_move_mount(struct vcpu *v, struct fact *fact);
bool read_firmware(struct vcpu *v, struct fact *fact);
bool read_issue(struct vcpu *v, struct fact *fact);
bool read_complete(struct vcpu *v, struct fact *fact);
bool read_batch(struct vcpu *v, struct fact *fact);
bool read_queue(struct vcpu *v, struct fact *fact);
bool read_timer(struct vcpu *v, struct fact *fact);
bool read_mutex(struct vcpu *v, struct fact *fact);
bool read_semaphore(struct vcpu *v, struct fact *fact);
bool read_due(struct vcpu *v, struct fact *fact);
bool read_work(struct vcpu *v, struct fact *fact);
bool read_arguments(struct vcpu *v, struct fact *fact);
bool read_cgroup(struct vcpu *v, struct fact *fact);
bool read_group(struct vcpu *v, struct fact *fact);
bool read_group_gone(struct vcpu *v, struct fact *fact);
bool read_audit(struct vcpu *v, struct fact *fact);
bool read_test(struct vcpu *v, struct fact *fact);

/* FACT_CGROUP outside a function: that task is in that group. */
bool read_membership(struct vcpu *v, struct fact *fact, uint64_t group, uint64_t task);

#endif
