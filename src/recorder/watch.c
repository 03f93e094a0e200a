/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch.h"

#include <string.h>

#include "arch/arch.h"
#include "arch/x86_syscalls.h"
#include "boot.h"
#include "code.h"
#include "guest_time.h"
#include "syscalls.h"
#include "tasks.h"

enum { REGISTERS_TRUSTED = 16 }; /* blocks of the ring, until what is read directly is held against QEMU's answers again */

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

static const struct site *site_at(uint32_t site)
{
	return sites_get(&recorder.sites, site);
}

static __attribute__((noinline)) void turn_block(struct vcpu *v)
{
	uint64_t *p;

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

static inline void done(struct vcpu *v, uint64_t *end)
{
	ring_publish(&v->ring, end);
	if (__builtin_expect(end >= v->ring.limit, 0))
		turn_block(v);
}

static void put(struct vcpu *v, uint32_t site, uint64_t insns, const uint64_t *words, unsigned n)
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

/* What was read inside QEMU turned out wrong: as many events as fit into so many blocks of the ring may be. */
static void doubt(struct vcpu *v, unsigned blocks)
{
	v->live->unwatched += (uint64_t)blocks * RING_BLOCK_WORDS / 3;
}

/* Ask QEMU, and learn or check where the value can be had without. */
static __attribute__((noinline)) uint64_t ask_value(struct vcpu *v, qemu_plugin_meminfo_t info)
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
			doubt(v, 1);
	} else {
		v->value_place = value_learn(&recorder.value_place, value);
	}
	pthread_mutex_unlock(&recorder.lock);
	return value;
}

/* What a 64-bit access loaded or stored. */
static inline uint64_t value_64(struct vcpu *v, qemu_plugin_meminfo_t info)
{
	return __builtin_expect(v->value != NULL, 1) ? *v->value : ask_value(v, info);
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
	v->base16 = next - value;
	return next;
}

void watch_call_kernel(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	(void)info;
	put_1(vcpu_get(cpu), (uintptr_t)data, vaddr);
}

void watch_call_long(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	struct vcpu *v = vcpu_get(cpu);

	put_2(v, (uintptr_t)data, vaddr, value_64(v, info));
}

void watch_call(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	struct vcpu *v = vcpu_get(cpu);

	put_2(v, site_of(data), vaddr, return_address(v, info, data));
}

void watch_call_indirect(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	uint64_t from, target;

	if (!qemu_plugin_mem_is_store(info)) {
		v->target = value_sized(v, info, qemu_plugin_mem_size_shift(info));
		return;
	}
	from = return_address(v, info, data);
	target = v->target;
	if (is_16bit(qemu_plugin_mem_size_shift(info), data))
		target = v->base16 + (target & 0xffff);
	PUT(v, site_of(data), v->live->insns, vaddr, from, target);
}

/*
 * Which of its memory accesses a far transfer is at: the first two are its own, those that follow are of the segment's
 * descriptor.
 */
static unsigned far_access(struct vcpu *v)
{
	if (v->iret_insns != v->live->insns) {
		v->iret_insns = v->live->insns;
		v->iret_n = 0;
	}
	return v->iret_n++;
}

void watch_call_far(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	const struct site *site = site_at(site_of(data));

	if (!qemu_plugin_mem_is_store(info))
		return;
	/* the code segment is pushed first, then the offset */
	if (far_access(v) == 1)
		PUT(v, site_of(data), v->live->insns, vaddr, site->addr + site->length, 0);
}

void watch_return(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	unsigned shift = qemu_plugin_mem_size_shift(info);
	uint64_t base = is_16bit(shift, data) ? v->base16 : 0;

	put_2(v, site_of(data), vaddr, base + value_sized(v, info, shift));
}

/* In a function of its own, so that the common way needs no stack. */
static __attribute__((noinline)) void return_asking(struct vcpu *v, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	put_2(v, (uintptr_t)data, vaddr, ask_value(v, info));
}

void watch_return_long(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	struct vcpu *v = vcpu_get(cpu);

	if (__builtin_expect(v->value != NULL, 1))
		put_2(v, (uintptr_t)data, vaddr, *v->value);
	else
		return_asking(v, info, vaddr, data);
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
		v->iret_slot = vaddr;
		v->far_ip = value_of(info);
		break;
	case 1:
		PUT(v, site_of(data), v->live->insns, v->iret_slot, far_address(value_of(info) & 0xffff, v->far_ip, shift));
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
		v->far_ip = value_of(info);
		v->far_shift = shift;
		break;
	case 1:
		put_jump_far(v, site_of(data), site_at(site_of(data)),
			     far_address(value_of(info) & 0xffff, v->far_ip, v->far_shift));
		break;
	}
}

/* Computed jumps within a function (switch tables) are its own business. */
static bool within_function(const struct site *site, uint64_t target)
{
	long function;

	if (!addr_is_kernel(site->addr))
		return false;
	function = kernel_function(&recorder.kernel, site->addr);
	return function != SYMTAB_NONE && function == kernel_function(&recorder.kernel, target) &&
	       !kernel_function_start(&recorder.kernel, function, target);
}

/* Where a jump that stands `offset` into its block really is; 16-bit code tells an offset into its segment. */
static uint64_t jump_address(const struct vcpu *v, const struct site *site, uint64_t offset)
{
	uint64_t from = v->rip + offset;

	return (from ^ site->addr) & 0xfff || site->addr < 0x100000 ? site->addr : from;
}

static void jump_indirect(struct vcpu *v, uint32_t number, uint64_t offset, uint64_t target)
{
	const struct site *site = site_at(number);

	if (site->addr < 0x100000 && target < 0x10000)
		target += v->base16;
	if (addr_is_kernel(site->addr)) {
		if (!within_function(site, target))
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

	jump_indirect(v, site_of(data), above(data) >> WATCH_REG_BITS,
		      registers_read(&v->regs, (enum reg)(above(data) & ((1 << WATCH_REG_BITS) - 1))));
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
	put_2(v, site_of(data), jump_address_long(v, data), value_64(v, info));
}

void watch_target(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);

	v->target = registers_read(&v->regs, (enum reg)(uintptr_t)data);
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
		doubt(v, REGISTERS_TRUSTED);
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

void watch_arrive(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	uint64_t *p = v->ring.head;

	p[0] = raw_word0(site_of(data), v->live->insns - above(data));
	ring_publish(&v->ring, p + 1);
	/*
	 * Reading the clock is not allowed inside a translated block. Leave the switch of the ring's block to the next
	 * record, unless the block is nearly full.
	 */
	if (__builtin_expect(p + 1 >= v->ring.limit + RING_RECORD_MAX / 2, 0))
		ring_next_block(&v->ring);
}

/* `uncounted`: instructions of the block that runs which the counter does not have yet. */
static void resume(struct vcpu *v, uint64_t uncounted)
{
	if (!v->halted)
		return;
	v->halted = false;
	guest_time_resumed(v, uncounted);
	PUT(v, EVENT_RESUME, v->live->insns, guest_time(v));
}

void watch_halt(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);

	(void)data;
	resume(v, 0);
	guest_time_halted(v);
	v->halted = true;
	PUT(v, EVENT_HALT, v->live->insns, guest_time(v));
}

void watch_resume(unsigned cpu, void *data)
{
	resume(vcpu_get(cpu), (uintptr_t)data);
}

/* The vCPU begins anew: it runs no task, has no page tables, and its calls are over. */
static void begin_anew(struct vcpu *v, uint64_t ns)
{
	PUT(v, EVENT_TASK_SWITCH, v->live->insns, ns, v->task, 0);
	if (v->space)
		PUT(v, EVENT_ADDRESS_SPACE, v->live->insns, 0);
	v->task = v->space = v->user_from = 0;
	v->user_left = LEFT_UNKNOWN;
	v->unread.kinds = NULL;
}

void watch_start(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	(void)data;
	/* vCPU 0 boots without such an interrupt; and the first instruction of a page is not always where one leads to */
	if (cpu == 0 || registers_read(&v->regs, GUEST_RIP))
		return;
	if (!v->live->insns) {
		/* it has waited for this since the guest began */
		PUT(v, EVENT_HALT, 0, 0);
		v->halted = true;
	}
	resume(v, 0);
	begin_anew(v, guest_time(v));
}

/* A reset has put the vCPU where it waits for a startup interrupt. It does not execute, so its ring may be written to. */
static void wait_for_start(struct vcpu *v)
{
	resume(v, 0);
	begin_anew(v, guest_time(v));
	v->halted = true;
	PUT(v, EVENT_HALT, v->live->insns, guest_time(v));
}

static void begin_boot(struct vcpu *v, uint32_t site, bool loaded)
{
	uint64_t ns;

	/* a kernel that starts another one has halted the others itself */
	for (unsigned i = 0; i < recorder.n_vcpus && !loaded; i++)
		if (i != v->index && vcpu_get(i) && vcpu_get(i)->live->insns)
			wait_for_start(vcpu_get(i));
	resume(v, 0);
	ns = guest_time(v);
	boot_begin(ns, loaded);
	begin_anew(v, ns);
	v->lstar = v->cstar = v->sysenter = v->base16 = 0;
	put(v, site, v->live->insns, NULL, 0);
}

void watch_reset(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);

	/* that is also how it begins when the machine is switched on */
	if (cpu == 0 && v->live->insns)
		begin_boot(v, site_of(data), false);
}

void watch_kexec_begins(unsigned cpu, void *data)
{
	(void)cpu;
	(void)data;
	pthread_mutex_lock(&recorder.lock);
	recorder.kexec = true;
	pthread_mutex_unlock(&recorder.lock);
}

void watch_kexec(unsigned cpu, void *data)
{
	if (recorder.kexec)
		begin_boot(vcpu_get(cpu), site_of(data), true);
}

/*
 * A power-off is asked for by a port write, but the vCPUs only stop when the
 * host gets round to it. The recording ends here, at the same place each time.
 */
void watch_shutdown(unsigned cpu, void *data)
{
	(void)cpu;
	(void)data;
	if (!inside_shut_down())
		return;
	for (unsigned i = 0; i < recorder.n_vcpus; i++) {
		struct vcpu *v = vcpu_get(i);

		/* another vCPU's ring is only its own thread's, unless all share one */
		if (!v || v->ended || (i != cpu && !recorder.cuts_blocks))
			continue;
		v->ended = true;
		v->end_insns = v->live->insns;
		PUT(v, EVENT_CLOCK, v->live->insns, guest_time(v));
		put(v, EVENT_NONE, v->live->insns, NULL, 0);
	}
}

/* Popped by an iret, and whether it leads to user code elsewhere than that was left. */
static uint64_t code_segment(const struct vcpu *v, uint64_t target)
{
	uint64_t cs = v->iret[1] & 0xffff;
	/* a system call that a signal cut short may be made again */
	bool elsewhere = (cs & 3) == 3 && v->user_from && v->user_from != target &&
			 v->user_from - arch_x86_64.syscall_length != target;

	return cs | (elsewhere ? IRET_ELSEWHERE : 0);
}

void watch_interrupt_return(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	unsigned shift = qemu_plugin_mem_size_shift(info);
	uint64_t value = value_of(info), target;

	if (qemu_plugin_mem_is_store(info))
		return;
	if (v->iret_insns != v->live->insns || vaddr != v->iret_slot + ((uint64_t)v->iret_n << shift) || v->iret_n > 2) {
		if (v->iret_insns == v->live->insns && v->iret_n > 2)
			return; /* the stack pointer and segment that follow */
		v->iret_n = 0;
		v->iret_slot = vaddr;
		v->iret_insns = v->live->insns;
	}
	v->iret[v->iret_n++] = value;
	if (v->iret_n < 3)
		return;
	target = far_address(v->iret[1] & 0xffff, v->iret[0], shift);
	if ((v->iret[1] & 3) == 3)
		syscalls_returned(v);
	PUT(v, site_of(data), v->live->insns, v->iret_slot, target, code_segment(v, target),
	    shift == 3 && (v->iret[1] & 3) == 3 && v->user_left != LEFT_BY_INTERRUPT ? registers_read(&v->regs, GUEST_RAX) : 0);
}

void watch_lidt(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	unsigned shift = qemu_plugin_mem_size_shift(info);
	struct idt idt;

	(void)vaddr;
	(void)data;
	if (shift == 1) {
		v->lidt_limit = value_of(info);
		return;
	}
	idt = (struct idt){ .base = value_of(info), .limit = (uint32_t)v->lidt_limit };
	idt.kind = shift == 3 ? IDT_64 : idt.base == 0 && idt.limit == 0x3ff ? IDT_REAL : IDT_32;
	pthread_mutex_lock(&recorder.lock);
	idts_add(&recorder.idts, &idt);
	pthread_mutex_unlock(&recorder.lock);
}

/* The block that began last, of those that tell; 0: not known. One whose access told it apart has given up its number. */
static uint32_t running_block(const struct vcpu *v)
{
	if (v->live->block)
		return (uint32_t)v->live->block;
	return v->single_insns == v->live->insns ? v->single_block : 0;
}

/*
 * The block that was left at an address, and at which of its instructions;
 * NULL: not known. Kernel blocks do not tell when they begin, so that the number
 * in `v` may be of another long ago; they are found by their address. Under `lock`.
 */
static const struct block *block_left(const struct vcpu *v, uint64_t addr, int *ret_index)
{
	const struct block *block = NULL;

	if (addr_is_kernel(addr) && !recorder.cuts_blocks)
		block = blocks_find(&recorder.blocks, addr, ret_index);
	if (!block && running_block(v)) {
		block = blocks_get(&recorder.blocks, running_block(v));
		*ret_index = block_index_of(block, addr);
	}
	return block && *ret_index >= 0 ? block : NULL;
}

/*
 * A device register may only be touched by the last instruction of a block, so
 * QEMU leaves a block whose middle does that and runs the one instruction in a
 * block of its own, in which nothing but memory is instrumented. That is what
 * it looks like: the access came, but the block did not say that it began.
 */
void watch_single(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	uint32_t number = (uint32_t)(uintptr_t)data;
	const struct block *left;
	int k;

	(void)info;
	(void)vaddr;
	if (v->live->block != number) {
		if (v->single_insns == v->live->insns)
			return;
		pthread_mutex_lock(&recorder.lock);
		left = block_left(v, blocks_get(&recorder.blocks, number)->addr, &k);
		if (left)
			v->live->insns -= left->n - (unsigned)k - 1;
		pthread_mutex_unlock(&recorder.lock);
	}
	/* a second access of the same instruction is none of another's; if it faults, the one instruction is to be taken back */
	v->single_insns = v->live->insns;
	v->single_block = number;
	v->live->block = 0;
}

void watch_cr3(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	uint64_t cr3 = registers_read(&v->regs, (enum reg)(uintptr_t)data);

	cr3 &= 0x000ffffffffff000; /* without the process-context identifier */
	if (cr3 == v->space)
		return;
	v->space = cr3;
	PUT(v, EVENT_ADDRESS_SPACE, v->live->insns, cr3);
}

void watch_wrmsr(unsigned cpu, void *data)
{
	enum { SYSENTER_EIP = 0x176, LSTAR = 0xc0000082u, CSTAR = 0xc0000083u };
	struct vcpu *v = vcpu_get(cpu);
	uint32_t msr = (uint32_t)registers_read(&v->regs, GUEST_RCX);
	uint64_t value;

	(void)data;
	if (msr != LSTAR && msr != CSTAR && msr != SYSENTER_EIP)
		return;
	value = (uint32_t)registers_read(&v->regs, GUEST_RAX) | registers_read(&v->regs, GUEST_RDX) << 32;
	if (msr == LSTAR)
		v->lstar = value;
	else if (msr == CSTAR)
		v->cstar = value;
	else
		v->sysenter = value;
}

/* A system call that is made: where it leads to and comes back to, its number, and where its six arguments are. */
struct made {
	enum x86_abi abi;
	uint64_t target, from, nr;
	enum reg args[6];
	bool stashed;    /* the sixth argument is in memory, where its register points */
};

static uint64_t argument(struct vcpu *v, const struct made *call, unsigned i)
{
	uint64_t value = registers_read(&v->regs, call->args[i]);
	uint32_t word = 0;

	if (call->abi == X86_ABI_I386)
		value = (uint32_t)value;
	if (!call->stashed || i < 5)
		return value;
	guest_read(&v->regs, value, &word, sizeof word); /* what the kernel cannot read either is no argument */
	return word;
}

static void put_syscall(struct vcpu *v, const struct made *call)
{
	const struct syscall_abi *abi = arch_abi(&arch_x86_64, call->abi);
	uint64_t words[11] = { call->target, guest_time(v), call->from, call->nr };

	v->user_left = LEFT_BY_SYSCALL;
	/* it goes back to where a signal came, which only the kernel knows */
	v->user_from = syscall_role(abi, call->nr) == SYSCALL_SIGRETURN ? 0 : call->from;
	for (unsigned i = 0; i < 6; i++)
		words[4 + i] = argument(v, call, i);
	words[10] = call->abi;
	put(v, EVENT_SYSCALL, v->live->insns, words, 11);
	syscalls_read(v, abi, words + 3);
}

/*
 * Fast calls of 32-bit code come back to where the vDSO wants it, which is behind the int $0x80
 * that stands behind them there, for CPUs without them: arch/x86/entry/vdso/vdso32/system_call.S.
 */
static uint64_t landing_pad(struct vcpu *v, uint64_t next)
{
	static const uint8_t int80[2] = { 0xcd, 0x80 };
	uint8_t bytes[2];

	return guest_read(&v->regs, next, bytes, sizeof bytes) && !memcmp(bytes, int80, sizeof bytes) ? next + sizeof bytes : 0;
}

/* __USER32_CS, arch/x86/include/asm/segment.h; segments that programs make themselves have no 64-bit code. */
static bool is_32bit(struct vcpu *v)
{
	enum { USER32_CS = 0x23, LOCAL_TABLE = 4 };
	uint64_t cs = registers_read(&v->regs, GUEST_CS) & 0xffff;

	return cs == USER32_CS || cs & LOCAL_TABLE;
}

/* arch/x86/entry/entry_64_compat.S, entry_SYSCALL_compat */
static void put_syscall_32(struct vcpu *v, uint64_t next)
{
	put_syscall(v, &(struct made){
		.abi = X86_ABI_I386, .target = v->cstar, .from = landing_pad(v, next),
		.nr = (uint32_t)registers_read(&v->regs, GUEST_RAX),
		.args = { GUEST_RBX, GUEST_RBP, GUEST_RDX, GUEST_RSI, GUEST_RDI, GUEST_RSP }, .stashed = true,
	});
}

void watch_syscall(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	uint64_t next = v->rip + (uintptr_t)data, nr = registers_read(&v->regs, GUEST_RAX);

	if (next <= UINT32_MAX && is_32bit(v))
		put_syscall_32(v, next);
	else
		put_syscall(v, &(struct made){
			.abi = (uint32_t)nr >> 30 == 1 ? X86_ABI_X32 : X86_ABI_64, .target = v->lstar, .from = next, .nr = nr,
			.args = { GUEST_RDI, GUEST_RSI, GUEST_RDX, GUEST_R10, GUEST_R8, GUEST_R9 },
		});
}

/* entry_SYSENTER_compat, there too: whatever code makes the call, it is i386's. */
void watch_sysenter(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);

	put_syscall(v, &(struct made){
		.abi = X86_ABI_I386, .target = v->sysenter, .from = landing_pad(v, v->rip + (uintptr_t)data),
		.nr = (uint32_t)registers_read(&v->regs, GUEST_RAX),
		.args = { GUEST_RBX, GUEST_RCX, GUEST_RDX, GUEST_RSI, GUEST_RDI, GUEST_RBP }, .stashed = true,
	});
}

void watch_sysret(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	uint64_t target = registers_read(&v->regs, GUEST_RCX);

	(void)data;
	syscalls_returned(v);
	PUT(v, EVENT_SYSCALL_RETURN, v->live->insns, target, guest_time(v), registers_read(&v->regs, GUEST_RAX));
}

void watch_sysexit(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	uint64_t target = registers_read(&v->regs, GUEST_RDX);

	(void)data;
	PUT(v, EVENT_SYSCALL_RETURN, v->live->insns, target, guest_time(v), registers_read(&v->regs, GUEST_RAX));
}

struct frame {
	uint64_t slot, from, cs, error;
};

static bool pushes_error(unsigned vector)
{
	/* AMD APM vol. 2, 8.2: #DF #TS #NP #SS #GP #PF #AC #CP #HV?no #VC #SX */
	return vector == 8 || (vector >= 10 && vector <= 14) || vector == 17 || vector == 21 || vector == 29 ||
	       vector == 30;
}

static bool read_frame(struct vcpu *v, unsigned vector, enum idt_kind kind, struct frame *ret)
{
	unsigned word = kind == IDT_64 ? 8 : kind == IDT_32 ? 4 : 2;
	bool error = kind != IDT_REAL && pushes_error(vector);
	uint8_t bytes[4 * 8];
	uint64_t at[4] = { 0 }, sp = registers_read(&v->regs, GUEST_RSP);

	if (kind == IDT_REAL)
		sp = registers_read(&v->regs, GUEST_SS) * 16 + (sp & 0xffff);
	if (!guest_read(&v->regs, sp, bytes, (3u + error) * word))
		return false;
	for (unsigned i = 0; i < 3u + error; i++)
		memcpy(&at[i], bytes + i * word, word);
	*ret = (struct frame){
		.slot = sp, .error = error ? at[0] : 0, .from = at[error], .cs = at[error + 1] & 0xffff,
	};
	if (kind == IDT_REAL)
		ret->from += ret->cs * 16;
	return true;
}

/*
 * Faults leave a block before the instruction that they point to; interrupts
 * come between blocks, and traps after the instruction that ended one.
 */
static bool is_fault(unsigned vector, uint64_t error)
{
	enum { INSTRUCTION_FETCH = 1 << 4 };

	if (vector == 14)
		return !(error & INSTRUCTION_FETCH);
	return vector < 32 && vector != 1 && vector != 2 && vector != 3 && vector != 4 && vector != 18;
}

static void take_back(struct vcpu *v, uint64_t from)
{
	const struct block *block;
	int k;

	pthread_mutex_lock(&recorder.lock);
	block = block_left(v, from, &k);
	if (block)
		v->live->insns -= block->n - (unsigned)k;
	pthread_mutex_unlock(&recorder.lock);
}

/* int $0x80, from any code: i386's system calls. */
static void put_int80(struct vcpu *v, uint64_t target, uint64_t from)
{
	put_syscall(v, &(struct made){
		.abi = X86_ABI_I386, .target = target, .from = from, .nr = (uint32_t)registers_read(&v->regs, GUEST_RAX),
		.args = { GUEST_RBX, GUEST_RCX, GUEST_RDX, GUEST_RSI, GUEST_RDI, GUEST_RBP },
	});
}

/* `uncounted`: as of resume(). */
static void handler_entered(struct vcpu *v, uint64_t handler, unsigned vector, enum idt_kind kind, uint64_t uncounted)
{
	enum { SYSCALL_VECTOR = 0x80 };
	struct frame f = { 0 };

	resume(v, uncounted);
	if (read_frame(v, vector, kind, &f) && is_fault(vector, f.error))
		take_back(v, f.from);
	if (vector == SYSCALL_VECTOR && kind == IDT_64 && (f.cs & 3) == 3) {
		put_int80(v, handler, f.from);
		return;
	}
	if ((f.cs & 3) == 3) {
		v->user_left = LEFT_BY_INTERRUPT;
		v->user_from = f.from;
	}
	PUT(v, EVENT_INTERRUPT, v->live->insns, f.slot, f.from, handler, guest_time(v), vector, f.error, f.cs);
}

void watch_interrupt(unsigned cpu, void *data)
{
	const struct block *block = blocks_get(&recorder.blocks, (uint32_t)(uintptr_t)data);

	handler_entered(vcpu_get(cpu), block->addr, block->vector & 0xff, block->vector >> 8, block->n);
}

/* What no descriptor table leads to (entering system management mode) is left to the return that ends it. */
void watch_discontinuity(unsigned cpu, int type, uint64_t from, uint64_t to)
{
	struct vcpu *v = vcpu_get(cpu);
	enum idt_kind kind;
	int vector;

	(void)type;
	(void)from;
	pthread_mutex_lock(&recorder.lock);
	recorder_find_live(); /* no translated code is running, whose translation would have */
	vector = idts_handler(&recorder.idts, &v->regs, to, &kind);
	pthread_mutex_unlock(&recorder.lock);
	if (vector >= 0)
		handler_entered(v, to, (unsigned)vector, kind, 0);
}

static void tell_command_line(struct vcpu *v)
{
	char text[2048];
	struct buf lines = { 0 };

	if (recorder.kernel.command_line && guest_read(&v->regs, recorder.kernel.command_line, text, sizeof text)) {
		text[sizeof text - 1] = '\0';
		pthread_mutex_lock(&recorder.lock);
		meta_put(&lines, boot_meta_key("command_line"), text);
		pthread_mutex_unlock(&recorder.lock);
		drain_put(CHUNK_META, &lines);
		buf_free(&lines);
	}
	recorder.kernel.command_line = 0;
}

void watch_task_switch(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	uint64_t previous = registers_read(&v->regs, GUEST_RDI), next;

	(void)data;
	if (recorder.kernel.command_line)
		tell_command_line(v);
	next = registers_read(&v->regs, GUEST_RSI);
	v->user_from = tasks_switch(previous, v->user_from, next);
	syscalls_switch(v, previous, next);
	tasks_meet(v, cpu, previous);
	tasks_meet(v, cpu, next);
	v->task = next;
	v->user_left = LEFT_UNKNOWN;
	PUT(v, EVENT_TASK_SWITCH, v->live->insns, guest_time(v), previous, next);
}

void watch_new_task(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);

	(void)data;
	/* so that what its maker did comes before what it does on another vCPU */
	watch_clock(cpu);
	syscalls_gone(registers_read(&v->regs, GUEST_RDI));
	tasks_tell(v, cpu, TASK_NEW, registers_read(&v->regs, GUEST_RDI));
}

void watch_task_name(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	bool exec = registers_read(&v->regs, GUEST_RSI) & 0xff;

	(void)data;
	if (exec) { /* the new program's code comes after it */
		syscalls_forget(v);
		watch_clock(cpu);
	}
	tasks_tell(v, cpu, exec ? TASK_EXEC : TASK_NAME, registers_read(&v->regs, GUEST_RDI));
}

void watch_task_exit(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);

	(void)data;
	syscalls_forget(v);
	tasks_tell(v, cpu, TASK_EXIT, v->task);
}

void watch_code(unsigned cpu, void *data)
{
	const struct code_hook *hook = data;
	struct vcpu *v = vcpu_get(cpu);

	hook->take(v, cpu, registers_read(&v->regs, GUEST_RDI));
}

uint64_t watch_clock(unsigned cpu)
{
	struct vcpu *v = vcpu_get(cpu);
	uint64_t ns = guest_time(v);

	PUT(v, EVENT_CLOCK, v->live->insns, ns);
	return ns;
}

void watch_finish(void)
{
	for (unsigned i = 0; i < recorder.n_vcpus; i++) {
		struct vcpu *v = vcpu_get(i);

		if (!v || v->ended)
			continue;
		v->end_insns = v->live->insns;
		PUT(v, EVENT_CLOCK, v->end_insns, guest_time(v));
	}
}
