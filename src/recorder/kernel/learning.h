/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where nothing describes a kernel's types, what is read of it is learnt while it runs (guest/learn.h): at the same
 * functions' entries at which it is read. The functions below are called there first, in a vCPU's thread, in a callback
 * with registers. Once all is known, or was described, they do nothing.
 */
#ifndef UPTO_RECORDER_LEARNING_H
#define UPTO_RECORDER_LEARNING_H

#include "guest/learn.h"
#include "recorder/recorder.h"

/* The guest's memory, as that vCPU sees it. */
struct learn_memory learning_memory(struct vcpu *v);

/* The kernel was found; is anything to be learnt? Under `lock`. */
void learning_begin(void);

/*
 * The boot ends, or the recording: nothing more is learnt. Appends the members that were needed and could not be
 * learnt, behind what is in
 * *missing, with commas between; and to *early those that were learnt after they had been needed, with how often.
 * False: nothing was to be learnt.
 */
bool learning_end(struct buf *missing, struct buf *early);

void learning_switch(struct vcpu *v, unsigned cpu, uint64_t previous, uint64_t next);
void learning_exec(struct vcpu *v, uint64_t task);
void learning_mapping(struct vcpu *v, uint64_t vma);
void learning_arguments(struct vcpu *v, uint64_t mm);
void learning_log(struct vcpu *v, uint64_t entry);
void learning_probe(struct vcpu *v, uint64_t device, uint64_t driver);
void learning_request(struct vcpu *v, uint64_t request);
void learning_work(struct vcpu *v, uint64_t work);
void learning_timer(struct vcpu *v, uint64_t timer);
void learning_group(struct vcpu *v, uint64_t node);

#endif
