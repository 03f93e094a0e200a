/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls, returns and jumps, and where control arrives. */
#include "recorder/kernel/guest_address.h"
#include "recorder/watch/watch_put.h"
#include "watch_x86.h"

/* 16-bit code pushes offsets into its segment; what that segment's base is, a call gives away. */
static bool is_16bit(unsigned shift, const void *data)
{
	bool opsize = (uintptr_t)data & WATCH_OPSIZE;

	return shift == 1 ? !opsize : shift == 2 && opsize;
}

static uint64_t return_address(struct vcpu *v, qemu_plugin_meminfo_t info, const void *data)
{
	unsigned shift = qemu_plugin_mem_size_shift(info);
	const struct site *site;
	uint64_t next, value;

	if (__builtin_expect(shift == 3, 1))
		return value_64(v, info);
	value = value_of(info);
	if (!is_16bit(shift, data))
		return value;
	site = site_at(site_of(data));
	next = site->addr + site->length;
	v->cpu.base16 = next - value;
	return next;
}

void watch_call_kernel(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	(void)info;
	put_1(vcpu_get(cpu), (uintptr_t)data, vaddr);
}

void watch_call_narrow(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	(void)info;
	put_1(vcpu_get(cpu), (uintptr_t)data, guest_address(vaddr));
}

/* In functions of their own, so that the common way needs no stack. */
static __attribute__((noinline)) void put_slot_asking(struct vcpu *v, qemu_plugin_meminfo_t info, uint64_t vaddr,
						      void *data)
{
	put_2(v, (uintptr_t)data, vaddr, watch_ask_value(v, info));
}

static __attribute__((noinline)) void put_jump_asking(struct vcpu *v, qemu_plugin_meminfo_t info, uint64_t from,
						      void *data)
{
	put_2(v, site_of(data), from, watch_ask_value(v, info));
}

void watch_call_long(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	struct vcpu *v = vcpu_get(cpu);

	if (__builtin_expect(v->value != NULL, 1))
		put_2(v, (uintptr_t)data, vaddr, *v->value);
	else
		put_slot_asking(v, info, vaddr, data);
}

void watch_call(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	struct vcpu *v = vcpu_get(cpu);

	put_2(v, site_of(data), guest_address(vaddr), guest_address(return_address(v, info, data)));
}

void watch_call_indirect(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	uint64_t from, target;

	if (!qemu_plugin_mem_is_store(info)) {
		v->target = guest_address(value_sized(v, info, qemu_plugin_mem_size_shift(info)));
		return;
	}
	from = return_address(v, info, data);
	target = v->target;
	if (is_16bit(qemu_plugin_mem_size_shift(info), data))
		target = v->cpu.base16 + (target & 0xffff);
	PUT(v, site_of(data), v->live->insns, guest_address(vaddr), guest_address(from), target);
}

/*
 * Which of its memory accesses a far transfer is at: the first two are its own, those that follow are of the segment's
 * descriptor.
 */
static unsigned far_access(struct vcpu *v)
{
	if (v->cpu.iret_insns != v->live->insns) {
		v->cpu.iret_insns = v->live->insns;
		v->cpu.iret_n = 0;
	}
	return v->cpu.iret_n++;
}

void watch_call_far(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	const struct site *site = site_at(site_of(data));

	if (!qemu_plugin_mem_is_store(info))
		return;
	/* the code segment is pushed first, then the offset */
	if (far_access(v) == 1)
		PUT(v, site_of(data), v->live->insns, guest_address(vaddr), site->addr + site->length, 0);
}

void watch_return(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	unsigned shift = qemu_plugin_mem_size_shift(info);
	uint64_t base = is_16bit(shift, data) ? v->cpu.base16 : 0;

	/* the kernel's, if QEMU has what it translated as the kernel set out at a low address */
	if (shift == 3 && watch_may_leave_thunk(v)) {
		watch_thunk_return(cpu, info, vaddr, (void *)(uintptr_t)site_of(data));
		return;
	}
	put_2(v, site_of(data), guest_address(vaddr), guest_address(base + value_sized(v, info, shift)));
}

void watch_return_long(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	struct vcpu *v = vcpu_get(cpu);

	if (__builtin_expect(v->value != NULL, 1))
		put_2(v, (uintptr_t)data, vaddr, *v->value);
	else
		put_slot_asking(v, info, vaddr, data);
}

uint64_t far_address(uint64_t cs, uint64_t ip, unsigned shift)
{
	if (shift == 1 || (shift == 2 && ip < 0x10000 && cs >= 0x100))
		return cs * 16 + (ip & 0xffff);
	return ip;
}

void watch_return_far(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	unsigned shift = qemu_plugin_mem_size_shift(info);

	switch (far_access(v)) {
	case 0:
		v->cpu.iret_slot = vaddr;
		v->cpu.far_ip = value_of(info);
		break;
	case 1:
		PUT(v, site_of(data), v->live->insns, guest_address(v->cpu.iret_slot),
		    guest_address(far_address(value_of(info) & 0xffff, v->cpu.far_ip, shift)));
		break;
	}
}

static void put_jump_far(struct vcpu *v, uint32_t number, const struct site *site, uint64_t target)
{
	if (addr_is_kernel(site->addr))
		PUT(v, number, v->live->insns, target);
	else
		PUT(v, number, v->live->insns, site->addr, target);
}

void watch_jump_far_direct(unsigned cpu, void *data)
{
	const struct site *site = site_at(site_of(data));

	put_jump_far(vcpu_get(cpu), site_of(data), site, site->target);
}

/* Through memory: the offset is loaded first, then the segment. */
void watch_jump_far(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	unsigned shift = qemu_plugin_mem_size_shift(info);

	(void)vaddr;
	switch (far_access(v)) {
	case 0:
		v->cpu.far_ip = value_of(info);
		v->cpu.far_shift = shift;
		break;
	case 1:
		put_jump_far(v, site_of(data), site_at(site_of(data)),
			     guest_address(far_address(value_of(info) & 0xffff, v->cpu.far_ip, v->cpu.far_shift)));
		break;
	}
}

bool watch_stays_within(const struct site *site, uint64_t target)
{
	return addr_is_kernel(site->addr) && kernel_is_inside(&recorder.kernel, site->addr, target);
}

/* Where a jump that stands `offset` into its block really is; 16-bit code tells an offset into its segment. */
static uint64_t jump_address(const struct vcpu *v, const struct site *site, uint64_t offset)
{
	uint64_t from = guest_address(v->rip + offset);

	return (from ^ site->addr) & 0xfff || site->addr < 0x100000 ? site->addr : from;
}

static void jump_indirect(struct vcpu *v, uint32_t number, uint64_t offset, uint64_t target)
{
	const struct site *site = site_at(number);

	target = guest_address(target);
	if (site->addr < 0x100000 && target < 0x10000)
		target += v->cpu.base16;
	if (addr_is_kernel(site->addr)) {
		if (!watch_stays_within(site, target))
			PUT(v, number, v->live->insns, target);
	} else {
		PUT(v, number, v->live->insns, jump_address(v, site, offset), target);
	}
}

void watch_jump_mem(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	struct vcpu *v = vcpu_get(cpu);

	(void)vaddr;
	jump_indirect(v, site_of(data), above(data), value_sized(v, info, qemu_plugin_mem_size_shift(info)));
}

void watch_jump_reg(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	uint64_t target = registers_read(&v->regs, (enum reg)(above(data) & ((1 << WATCH_REG_BITS) - 1)));

	if (!watch_may_leave_thunk(v) || !watch_thunk_leaves(v, target))
		jump_indirect(v, site_of(data), above(data) >> WATCH_REG_BITS, target);
}

/* The same in 64-bit user code: what is needed of the site is in the userdata. */
static inline uint64_t jump_address_long(const struct vcpu *v, const void *data)
{
	uint64_t d = (uintptr_t)data, from = v->rip + (d >> WATCH_LONG_OFFSET & 0xffff);

	return __builtin_expect((from ^ d >> WATCH_LONG_PAGE) & 0xfff, 0) ? site_at(site_of(data))->addr : from;
}

void watch_jump_long(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);

	put_1(v, site_of(data), jump_address_long(v, data));
}

void watch_jump_reg_long(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	enum reg reg = (enum reg)((uintptr_t)data >> WATCH_LONG_REG);

	put_2(v, site_of(data), jump_address_long(v, data), registers_read(&v->regs, reg));
}

void watch_jump_mem_long(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	struct vcpu *v = vcpu_get(cpu);

	(void)vaddr;
	if (__builtin_expect(v->value != NULL, 1))
		put_2(v, site_of(data), jump_address_long(v, data), *v->value);
	else
		put_jump_asking(v, info, jump_address_long(v, data), data);
}

void watch_target(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);

	v->target = guest_address(registers_read(&v->regs, (enum reg)(uintptr_t)data));
}

void watch_jump_kernel(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	uint64_t *p = v->ring.head;

	p[0] = raw_word0((uintptr_t)data, v->live->insns);
	done(v, p + 1);
}

static __attribute__((noinline)) uint64_t learn_rip(struct vcpu *v)
{
	bool trusted = v->regs.place;
	uint64_t rip;

	pthread_mutex_lock(&recorder.lock);
	rip = registers_rip(&v->regs, &recorder.rip_place);
	pthread_mutex_unlock(&recorder.lock);
	if (trusted && !v->regs.place)
		watch_doubt(v, REGISTERS_TRUSTED);
	return rip;
}

void watch_rip(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);

	(void)data;
	v->rip = __builtin_expect(v->regs.direct != NULL, 1) ? v->regs.direct[GUEST_RIP] : learn_rip(v);
}

void watch_jump(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);

	PUT(v, site_of(data), v->live->insns, jump_address(v, site_at(site_of(data)), above(data)));
}

/*
 * Reading the clock is not allowed inside a translated block. Leave the switch of the ring's block to the next record,
 * unless the block is nearly full.
 */
static void publish_without_clock(struct vcpu *v, uint64_t *end)
{
	ring_publish(&v->ring, end);
	if (__builtin_expect(end >= v->ring.limit + RING_RECORD_MAX / 2, 0))
		ring_next_block(&v->ring);
}

void watch_arrive(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	uint64_t *p = v->ring.head;

	p[0] = raw_word0(site_of(data), v->live->insns - above(data));
	publish_without_clock(v, p + 1);
}

/*
 * Blocks do not cross pages: the place is in the one in which the block really began. 16-bit code tells an offset into
 * its segment.
 */
void watch_arrive_user(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	uint64_t *p = v->ring.head, addr = site_at(site_of(data))->addr;

	p[0] = raw_word0(site_of(data), v->live->insns - above(data));
	p[1] = addr < 0x100000 ? addr : (v->rip & ~UINT64_C(0xfff)) | (addr & 0xfff);
	publish_without_clock(v, p + 2);
}
