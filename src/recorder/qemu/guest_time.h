/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guest's time. Normally it is QEMU's own clock. If QEMU counts instructions
 * (-icount shift=N) and there is one vCPU, QEMU's clock is a multiple of the
 * instructions, and goes on by itself only while the vCPU is halted. Then time is
 * computed from the recorder's counter, and QEMU's clock is only asked how long each
 * halt was. So a clock is right at any place, and times between two clocks do not
 * depend on where the clocks are.
 */
#ifndef UPTO_RECORDER_GUEST_TIME_H
#define UPTO_RECORDER_GUEST_TIME_H

#include "recorder/recorder.h"

/* Guest time in nanoseconds, at the vCPU's counter. Called in the vCPU's thread, not in the middle of a block. */
uint64_t guest_time(const struct vcpu *v);

/*
 * The same before the first instruction of a block, in whose callback this is called: where vCPUs take turns QEMU has
 * counted the whole block, of `uncounted` instructions, already. How long the last one is depends on when the host gets
 * round to stopping the guest.
 */
uint64_t guest_time_ahead(const struct vcpu *v, uint64_t uncounted);

/* The vCPU halts. If QEMU's count of instructions differs from the recorder's here, the difference is drift. */
void guest_time_halted(const struct vcpu *v);

/* A halt has ended. `uncounted`: instructions of the running block that are not counted yet. Called in a callback. */
void guest_time_resumed(const struct vcpu *v, uint64_t uncounted);

/* The guest goes on from a snapshot, whose clock is not 0. `uncounted`: as in guest_time_resumed(). */
void guest_time_begins(const struct vcpu *v, uint64_t uncounted);

/*
 * The same amid a block, where QEMU ends when its clock of -icount is read: then that which was read last. Readers of
 * the trace have the time by the instructions.
 */
uint64_t guest_time_within(const struct vcpu *v);

/*
 * Has QEMU's clock been put back, or forward while vCPUs stood, as only a snapshot does that is loaded while the guest
 * runs? Then guest time goes on where it was. While no vCPU executes.
 */
bool guest_time_goes_on(void);

/* Check whether QEMU's clock went on by itself outside halts. Called now and then, in a callback. */
void guest_time_check(const struct vcpu *v);

#endif
