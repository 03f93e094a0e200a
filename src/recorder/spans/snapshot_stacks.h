/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where threads sleep that went to sleep before a snapshot: their kernel stacks are unwound, and told as a flight
 * recorder tells of calls from before its window (trace/stack_records.h). That takes a kernel with ORC tables.
 */
#ifndef UPTO_RECORDER_SNAPSHOT_STACKS_H
#define UPTO_RECORDER_SNAPSHOT_STACKS_H

#include "recorder/recorder.h"

/*
 * Of these tasks (addresses of task_struct, 8 bytes each), but for those that run. `gap`: the number of the gap with
 * which the recording begins. In a vCPU's thread, in a callback with registers.
 */
void snapshot_stacks_tell(struct vcpu *v, const struct buf *tasks, uint64_t gap);

#endif
