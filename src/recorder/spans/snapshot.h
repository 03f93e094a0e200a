/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest that goes on from a snapshot (QEMU's -incoming and -loadvm): nobody saw how it came to what it is. So what a
 * recording of a boot learns as it happens is read from the kernel's own lists, in one go, before the first event: who
 * is there, which program each one runs, what is mapped and loaded, and what runs on each vCPU.
 */
#ifndef UPTO_RECORDER_SNAPSHOT_H
#define UPTO_RECORDER_SNAPSHOT_H

#include "recorder/recorder.h"

/*
 * In a vCPU's thread, in a callback with registers, while nothing is recorded: tell of all that is there, and put each
 * vCPU's task into it. `entries`: as many are looked at of all lists, which may be damaged, and lead round in circles.
 */
void snapshot_tell(struct vcpu *v, unsigned cpu, size_t entries);
enum { SNAPSHOT_ENTRIES = 1 << 20 };

/* Behind that: where the others sleep. `gap`: the number of the gap with which the recording begins. */
void snapshot_tell_stacks(struct vcpu *v, uint64_t gap);

#endif
