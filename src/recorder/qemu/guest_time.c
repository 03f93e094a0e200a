/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest_time.h"

#include "qemu_inside.h"

enum {
	STRAY_INSNS = 4096, /* QEMU has counted the whole block that runs: that much more is no block's any more */
};

/* What QEMU's clock is, or the host's since the recording began. */
static uint64_t read_clock(void)
{
	uint64_t ns = inside_ns() - recorder.host_begin_ns + recorder.shift_ns;

	__atomic_store_n(&recorder.latest_ns, ns, __ATOMIC_RELAXED);
	return ns;
}

static uint64_t counted(uint64_t insns)
{
	return insns << recorder.icount_shift;
}

uint64_t guest_time(const struct vcpu *v)
{
	return recorder.counts_time ? recorder.time_ahead + counted(v->live->insns) : read_clock();
}

uint64_t guest_time_within(const struct vcpu *v)
{
	if (recorder.cuts_blocks && !recorder.counts_time)
		return __atomic_load_n(&recorder.latest_ns, __ATOMIC_RELAXED);
	return guest_time(v);
}

bool guest_time_goes_on(void)
{
	/* what another vCPU reads meanwhile is later than both */
	uint64_t latest = __atomic_load_n(&recorder.latest_ns, __ATOMIC_ACQUIRE),
		 now = inside_ns() - recorder.host_begin_ns + recorder.shift_ns, last;
	bool was_set = inside_clock_was_set();

	/* what was put forward took no time, either */
	if (now >= latest && !was_set)
		return false;
	last = recorder.counts_time ? guest_time(vcpu_get(0)) : latest;
	recorder.shift_ns += (last > latest ? last : latest) - now;
	return true;
}

uint64_t guest_time_ahead(const struct vcpu *v, uint64_t uncounted)
{
	return guest_time(v) - (recorder.cuts_blocks && !recorder.counts_time ? counted(uncounted) : 0);
}

void guest_time_begins(const struct vcpu *v, uint64_t uncounted)
{
	uint64_t ahead;

	if (!recorder.counts_time)
		return;
	ahead = read_clock() - counted(v->live->insns + uncounted);
	/* time does not go back: that of a recording that has begun has been told already */
	if ((int64_t)(ahead - recorder.time_ahead) > 0)
		recorder.time_ahead = ahead;
}

void guest_time_resumed(const struct vcpu *v, uint64_t uncounted)
{
	uint64_t ahead;
	int64_t halted;

	if (!recorder.counts_time)
		return;
	ahead = read_clock() - counted(v->live->insns + uncounted);
	halted = (int64_t)(ahead - recorder.time_ahead);
	/*
	 * QEMU may have counted less than the recorder, and the halt have been shorter than that: time does not go back
	 */
	if (halted >= 0)
		recorder.time_ahead = ahead;
	else
		recorder.time_drift -= halted; /* guest_time_halted() finds it once more, at the next halt */
}

void guest_time_halted(const struct vcpu *v)
{
	if (recorder.counts_time)
		recorder.time_drift += (int64_t)(read_clock() - guest_time(v));
}

void guest_time_check(const struct vcpu *v)
{
	int64_t stray;

	if (!recorder.counts_time)
		return;
	stray = (int64_t)(read_clock() - guest_time(v));
	if (stray > (int64_t)counted(STRAY_INSNS) || stray < -(int64_t)counted(STRAY_INSNS)) {
		recorder.time_ahead += (uint64_t)stray;
		recorder.time_strays++;
	}
}
