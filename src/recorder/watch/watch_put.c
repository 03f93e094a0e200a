/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch_put.h"

#include "recorder/qemu/guest_time.h"

/* What was put into this block may be another vCPU's. */
static void check_turn(struct vcpu *v)
{
	if (recorder.takes_turns && !recorder.puts_for_others && !turns_are_told(v->index))
		watch_doubt(v, 1);
}

void watch_turn_block(struct vcpu *v)
{
	uint64_t *p;

	check_turn(v);
	ring_next_block(&v->ring);
	v->value = NULL;
	if (v->ring.block % REGISTERS_TRUSTED == 0)
		v->regs.direct = NULL;
	p = v->ring.head;
	p[0] = raw_word0(EVENT_CLOCK, v->live->insns);
	guest_time_check(v);
	p[1] = guest_time(v);
	ring_publish(&v->ring, p + 2);
}

void watch_doubt(struct vcpu *v, unsigned blocks)
{
	v->live->unwatched += (uint64_t)blocks * RING_BLOCK_WORDS / 3;
}

uint64_t watch_ask_value(struct vcpu *v, qemu_plugin_meminfo_t info)
{
	uint64_t value = qemu_plugin_mem_get_value(info).data.u64;

	if (v->value_place && *v->value_place == value) {
		v->value = v->value_place;
		v->value_used = true;
		return value;
	}
	if (recorder.value_place.state == VALUE_UNKNOWABLE)
		return value;
	pthread_mutex_lock(&recorder.lock);
	if (v->value_place) {
		value_distrust(&recorder.value_place);
		v->value_place = NULL;
		if (v->value_used)
			watch_doubt(v, 1);
	} else {
		v->value_place = value_learn(&recorder.value_place, value);
	}
	pthread_mutex_unlock(&recorder.lock);
	return value;
}
