/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kasan_objects.h"

#include "kernel_argument.h"
#include "recorder/qemu/guest_time.h"
#include "structures.h"

static void put(struct vcpu *v, unsigned cpu, uint64_t cache, enum text_object what)
{
	uint64_t object[2] = { kernel_argument(&v->regs, 1), structure_read(v, cache, CACHE_OBJECT_SIZE, 4) };
	struct buf out = { 0 };

	if (recorder_waits())
		return;
	text_put(&out, &(struct text){
		.cpu = cpu, .insns = v->live->insns, .arg = what, .bytes = object, .len = sizeof object,
	});
	drain_put_beside(CHUNK_TEXTS, &out, guest_time(v));
	buf_free(&out);
}

void kasan_allocated(struct vcpu *v, unsigned cpu, uint64_t cache)
{
	put(v, cpu, cache, TEXT_ALLOCATED);
}

void kasan_freed(struct vcpu *v, unsigned cpu, uint64_t cache)
{
	put(v, cpu, cache, TEXT_FREED);
}
