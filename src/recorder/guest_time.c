/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest_time.h"

#include "qemu_inside.h"

enum {
	STRAY_INSNS = 4096, /* QEMU has counted the whole block that runs: that much more is no block's any more */
};

/* What QEMU's clock is, or the host's since the recording began. */
static uint64_t read_clock(void)
{
	return inside_ns() - recorder.host_begin_ns;
}

static uint64_t counted(uint64_t insns)
{
	return insns << recorder.icount_shift;
}

/* Where vCPUs take turns: what was told last, of which, and at which of its instructions. */
static struct {
	const struct vcpu *of;
	uint64_t ns, insns;
} last;

uint64_t guest_time(const struct vcpu *v)
{
	uint64_t ns = recorder.counts_time ? recorder.time_ahead + counted(v->live->insns) : read_clock();

	if (recorder.cuts_blocks) {
		last.of = v;
		last.ns = ns;
		last.insns = v->live->insns;
	}
	return ns;
}

uint64_t guest_time_at_end(const struct vcpu *v)
{
	if (!recorder.cuts_blocks || recorder.counts_time || !last.of)
		return guest_time(v);
	return last.ns + (last.of == v ? counted(v->live->insns - last.insns) : 0);
}

void guest_time_resumed(const struct vcpu *v, uint64_t uncounted)
{
	if (recorder.counts_time)
		recorder.time_ahead = read_clock() - counted(v->live->insns + uncounted);
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
