/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guest's tasks as they come, change their names and go: read from its
 * memory where the kernel itself tells of them, put into the trace as they are.
 * The functions below are called in a vCPU's thread, in a callback with registers.
 */
#ifndef UPTO_RECORDER_TASKS_H
#define UPTO_RECORDER_TASKS_H

#include "recorder/recorder.h"
#include "trace/task_records.h"

/* Tell of a task, whose task_struct is at that address. */
void tasks_tell(struct vcpu *v, unsigned cpu, enum task_change change, uint64_t task);

/* One task is switched from, having left user code there, another to: where that one did, last; 0: not known. */
uint64_t tasks_switch(uint64_t previous, uint64_t user_from, uint64_t next);

/* The same, unless it has been told of and is still there: tasks that were before upto could know. */
void tasks_meet(struct vcpu *v, unsigned cpu, uint64_t task);

/* It runs, or ran: tell what has changed of it, where the kernel's functions that tell of changes are not known. */
void tasks_look(struct vcpu *v, unsigned cpu, uint64_t task);

/* All tasks that were met are told of again: their names were not known before. */
void tasks_name_all(struct vcpu *v, unsigned cpu);

/* Where tasks leave user code is not watched from now on. */
void tasks_forget_left(void);

/* The machine begins anew: no task is known. */
void tasks_forget(void);

#endif
