/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interrupts and exceptions, and returns from them. What they leave in the middle of a block was counted with the
 * block, and is taken back; so is what a device access leaves.
 */
#include "arch/arch.h"
#include "recorder/kernel/guest_address.h"
#include "recorder/kernel/syscalls.h"
#include "recorder/qemu/guest_time.h"
#include "recorder/watch/watch_put.h"
#include "watch_x86.h"

/* Popped by an iret, and whether it leads to user code elsewhere than that was left. */
static uint64_t code_segment(const struct vcpu *v, uint64_t target)
{
	uint64_t cs = v->cpu.iret[1] & 0xffff;
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
	if (v->cpu.iret_insns != v->live->insns || vaddr != v->cpu.iret_slot + ((uint64_t)v->cpu.iret_n << shift) ||
	    v->cpu.iret_n > 2) {
		if (v->cpu.iret_insns == v->live->insns && v->cpu.iret_n > 2)
			return; /* the stack pointer and segment that follow */
		v->cpu.iret_n = 0;
		v->cpu.iret_slot = vaddr;
		v->cpu.iret_insns = v->live->insns;
	}
	v->cpu.iret[v->cpu.iret_n++] = value;
	if (v->cpu.iret_n < 3)
		return;
	target = guest_address(far_address(v->cpu.iret[1] & 0xffff, v->cpu.iret[0], shift));
	if ((v->cpu.iret[1] & 3) == 3)
		syscalls_returned(v);
	PUT(v, site_of(data), v->live->insns, guest_address(v->cpu.iret_slot), target, code_segment(v, target),
	    (shift == 3 || guest_is_narrow()) && (v->cpu.iret[1] & 3) == 3 && v->user_left != LEFT_BY_INTERRUPT
		    ? registers_read(&v->regs, GUEST_RAX)
		    : 0);
}

/*
 * The block that began last, of those that tell; 0: not known. One whose access told it apart has given up its number.
 */
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
	/*
	 * a second access of the same instruction is none of another's; if it faults, the one instruction is to be
	 * taken back
	 */
	v->single_insns = v->live->insns;
	v->single_block = number;
	v->live->block = 0;
}

struct frame {
	uint64_t slot, from, cs, error;
	uint64_t sp; /* where it was left, of 64-bit code; else 0 */
	bool enabled; /* interrupts were, where it was left */
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
	enum { FLAGS_IF = 1 << 9 };
	uint8_t bytes[5 * 8];
	unsigned words = kind == IDT_64 ? 4 : 3;
	uint64_t at[5] = { 0 }, sp = guest_linear(registers_read(&v->regs, GUEST_RSP));

	if (kind == IDT_REAL)
		sp = registers_read(&v->regs, GUEST_SS) * 16 + (sp & 0xffff);
	if (!guest_read(&v->regs, sp, bytes, (words + error) * word))
		return false;
	for (unsigned i = 0; i < words + error; i++)
		memcpy(&at[i], bytes + i * word, word);
	*ret = (struct frame){
		.slot = guest_address(sp), .error = error ? at[0] : 0, .from = guest_address(at[error]),
		.cs = at[error + 1] & 0xffff,
		.sp = kind == IDT_64 ? at[error + 3] : 0, .enabled = at[error + 2] & FLAGS_IF,
	};
	if (kind == IDT_REAL)
		ret->from += ret->cs * 16;
	return true;
}

/*
 * Faults leave a block before the instruction that they point to; interrupts
 * come between blocks, and traps after the instruction that ended one.
 */
static bool is_fault(unsigned vector, enum idt_kind kind, const struct frame *f)
{
	enum { INSTRUCTION_FETCH = 1 << 4, IRQ_0 = 8, IRQ_7 = 15 };

	/* a PC's firmware has the first eight device interrupts there, and no handlers of faults */
	if (kind == IDT_REAL && vector >= IRQ_0 && vector <= IRQ_7 && f->enabled)
		return false;
	if (vector == 14)
		return !(f->error & INSTRUCTION_FETCH);
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

/* `uncounted`: as of watch_resumes(). `taken`: what the fault left has been taken back before. */
static void handler_entered(struct vcpu *v, uint64_t handler, unsigned vector, enum idt_kind kind, uint64_t uncounted,
			    bool taken)
{
	enum { SYSCALL_VECTOR = 0x80 };
	struct frame f = { 0 };
	bool known;

	watch_resumes(v, uncounted);
	known = read_frame(v, vector, kind, &f);
	if (v->live->thunk)
		watch_thunk_cut(v, f.from, f.sp);
	if (known && is_fault(vector, kind, &f) && !taken)
		take_back(v, f.from);
	if (vector == SYSCALL_VECTOR && (kind == IDT_64 || guest_is_narrow()) && (f.cs & 3) == 3) {
		watch_int80(v, handler, f.from);
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
	struct vcpu *v = vcpu_get(cpu);
	bool taken = v->taken_back;

	v->taken_back = false;
	handler_entered(v, block->addr, block->vector & 0xff, block->vector >> 8, block->n, taken);
}

void watch_awaited_handler(unsigned cpu, void *data)
{
	const struct block *block = blocks_get(&recorder.blocks, (uint32_t)(uintptr_t)data);
	unsigned vector = block->vector & 0xff;
	enum idt_kind kind = block->vector >> 8;
	struct vcpu *v = vcpu_get(cpu);
	struct frame f;

	if (read_frame(v, vector, kind, &f) && is_fault(vector, kind, &f))
		take_back(v, f.from);
	v->taken_back = true;
	(above(data) ? watch_awaited_arrival : watch_awaited)(cpu, (void *)(uintptr_t)block->addr);
}

/* What no descriptor table leads to (entering system management mode) is left to the return that ends it. */
void watch_discontinuity(unsigned cpu, int type, uint64_t from, uint64_t to)
{
	struct vcpu *v = vcpu_get(cpu);
	enum idt_kind kind;
	int vector;

	(void)type;
	(void)from;
	if (v->waits && !recorder.cuts_blocks) {
		watch_resumes(v, 0);
		return;
	}
	pthread_mutex_lock(&recorder.lock);
	recorder_find_live(); /* no translated code is running, whose translation would have */
	vector = idts_handler(&recorder.tables.idts, &v->regs, to, &kind);
	pthread_mutex_unlock(&recorder.lock);
	if (vector >= 0)
		handler_entered(v, guest_address(to), (unsigned)vector, kind, 0, false);
}
