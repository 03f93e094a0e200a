/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is learnt of the tasks of a running kernel of 32 bits, where no description of its types is known: their names,
 * numbers, states, parents and memory. The functions below are called in a vCPU's thread, in a callback with registers.
 */
#ifndef UPTO_RECORDER_NARROW_LEARNING_H
#define UPTO_RECORDER_NARROW_LEARNING_H

#include "recorder/recorder.h"

/* A kernel was found. Under `lock`. */
void narrow_learning_begin(void);

/* Tasks are switched; a task has a new program. */
void narrow_learning_switch(struct vcpu *v, unsigned cpu, uint64_t previous, uint64_t next);
void narrow_learning_exec(struct vcpu *v, uint64_t task);

#endif
