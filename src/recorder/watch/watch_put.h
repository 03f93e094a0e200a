/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How callbacks put records into the ring of their vCPU, and ask for what a memory access loaded or stored. For the
 * files watch_*.c. All are called in the vCPU's thread.
 */
#ifndef UPTO_RECORDER_WATCH_PUT_H
#define UPTO_RECORDER_WATCH_PUT_H

#include <string.h>

#include "watch.h"

/* blocks of the ring, until what is read directly is held against QEMU's answers again */
enum { REGISTERS_TRUSTED = 16 };

static inline uint32_t site_of(const void *data)
{
	return (uintptr_t)data & ((1u << WATCH_SITE_BITS) - 1);
}

static inline uint64_t above(const void *data)
{
	return (uintptr_t)data >> WATCH_ABOVE;
}

static inline uint64_t value_of(qemu_plugin_meminfo_t info)
{
	qemu_plugin_mem_value v = qemu_plugin_mem_get_value(info);

	switch (v.type) {
	case QEMU_PLUGIN_MEM_VALUE_U64:
		return v.data.u64;
	case QEMU_PLUGIN_MEM_VALUE_U32:
		return v.data.u32;
	case QEMU_PLUGIN_MEM_VALUE_U16:
		return v.data.u16;
	default:
		return 0;
	}
}

static inline const struct site *site_at(uint32_t site)
{
	return sites_get(&recorder.sites, site);
}

/* The ring's block is full: begin the next one, with a clock. */
void watch_turn_block(struct vcpu *v);

static inline void done(struct vcpu *v, uint64_t *end)
{
	ring_publish(&v->ring, end);
	if (__builtin_expect(end >= v->ring.limit, 0))
		watch_turn_block(v);
}

static inline void put(struct vcpu *v, uint32_t site, uint64_t insns, const uint64_t *words, unsigned n)
{
	uint64_t *p = v->ring.head;

	p[0] = raw_word0(site, insns);
	if (n)
		memcpy(p + 1, words, n * sizeof *words);
	done(v, p + 1 + n);
}

#define PUT(v, site, insns, ...)                                                        \
	put(v, site, insns, (const uint64_t[]){ __VA_ARGS__ },                          \
	    sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

/* Control arrived there, at an address that is true at run time: only outside of the kernel it is in the record. */
static inline void put_arrival(struct vcpu *v, uint32_t site, uint64_t insns, uint64_t addr)
{
	put(v, site, insns, &addr, !addr_is_kernel(addr));
}

/* What was read inside QEMU turned out wrong: as many events as fit into so many blocks of the ring may be. */
void watch_doubt(struct vcpu *v, unsigned blocks);

/* Ask QEMU what a 64-bit access loaded or stored, and learn or check where the value can be had without. */
uint64_t watch_ask_value(struct vcpu *v, qemu_plugin_meminfo_t info);

/* What a 64-bit access loaded or stored. */
static inline uint64_t value_64(struct vcpu *v, qemu_plugin_meminfo_t info)
{
	return __builtin_expect(v->value != NULL, 1) ? *v->value : watch_ask_value(v, info);
}

static inline uint64_t value_sized(struct vcpu *v, qemu_plugin_meminfo_t info, unsigned shift)
{
	return __builtin_expect(shift == 3, 1) ? value_64(v, info) : value_of(info);
}

static inline void put_1(struct vcpu *v, uint64_t site, uint64_t a)
{
	uint64_t *p = v->ring.head;

	p[0] = raw_word0(site, v->live->insns);
	p[1] = a;
	done(v, p + 2);
}

static inline void put_2(struct vcpu *v, uint64_t site, uint64_t a, uint64_t b)
{
	uint64_t *p = v->ring.head;

	p[0] = raw_word0(site, v->live->insns);
	p[1] = a;
	p[2] = b;
	done(v, p + 3);
}

#endif
