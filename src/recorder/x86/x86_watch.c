/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decodes x86's instructions under translation, and has watched what they do: watch/translate.h. */
#include "x86_watch.h"

#include "arch/x86_insn.h"
#include "arch/x86_thunks.h"
#include "recorder/kernel/guest_address.h"
#include "recorder/watch/translate.h"
#include "watch_x86.h"

enum { FUNCTION_ALIGNMENT = 16 }; /* compilers' own; without symbols it tells functions from other places */

/* Only 64-bit code can have been translated from there. It may run at low addresses too, but is 64-bit code there. */
static bool is_long(uint64_t addr)
{
	return addr >> 32 && !guest_is_narrow();
}

/* Where a direct call or jump leads to. */
static uint64_t target_of(const struct x86_insn *x, uint64_t addr, uint8_t length)
{
	return guest_address(guest_linear(addr + length + (uint64_t)(int64_t)x->disp));
}

/* The kind of thunk whose steps are not recorded that the place is in. */
static enum x86_thunk silent_thunk(const struct work *w, uint64_t addr)
{
	return w->watches == WATCH_EVENTS && addr_is_kernel(addr) ? thunks_kind(&recorder.tables.thunks, addr)
							     : X86_NO_THUNK;
}

/* A call or jump to a thunk that stands for what a register holds: it is told of where the thunk leaves. */
static bool leads_through_thunk(struct work *w, enum event_kind kind, uint64_t addr, uint8_t length, uint64_t target)
{
	uint32_t site;

	if (silent_thunk(w, target) != X86_THUNK_INDIRECT || !addr_is_kernel(addr) ||
	    silent_thunk(w, addr) == X86_THUNK_INDIRECT)
		return false;
	site = work_site(w, kind, addr, length, 0);
	if (site)
		qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(w->insn, QEMU_PLUGIN_INLINE_STORE_U64,
								    recorder.thunk, site);
	return true;
}

/* A return within a thunk. Before the kernel is found, any of its code may be one. */
static bool is_thunks_return(const struct work *w, uint64_t addr)
{
	if (w->watches != WATCH_EVENTS || !addr_is_kernel(addr) || recorder.thunk_steps)
		return false;
	return !kernel_found(&recorder.kernel) || silent_thunk(w, addr) != X86_NO_THUNK;
}

/* A call within a thunk, whose return leads to what is meant. */
static bool is_thunks_call(const struct work *w, uint64_t addr, uint64_t target)
{
	return silent_thunk(w, addr) == X86_THUNK_INDIRECT &&
	       thunks_at(&recorder.tables.thunks, target) == thunks_at(&recorder.tables.thunks, addr);
}

static void call_direct(struct work *w, const struct x86_insn *x, uint64_t addr,
			uint8_t length)
{
	uint64_t target = target_of(x, addr, length);
	uint64_t opsize = x->opsize ? WATCH_OPSIZE : 0;
	uint32_t site;

	if (w->function == SYMTAB_NONE)
		*map_put(&recorder.call_targets, target, 1) = 1;
	if (addr_is_kernel(addr))
		work_expect_result(w, target, addr + length);
	if (is_thunks_call(w, addr, target) || leads_through_thunk(w, EVENT_CALL_INDIRECT, addr, length, target))
		return;
	site = work_site(w, EVENT_CALL, addr, length, target);
	if (!site)
		return;
	if (addr_is_kernel(addr))
		work_on_address(w, guest_is_narrow() ? watch_call_narrow : watch_call_kernel, QEMU_PLUGIN_MEM_W,
			   userdata(site, 0));
	else if (is_long(addr) && !x->opsize)
		work_on_mem(w, watch_call_long, QEMU_PLUGIN_MEM_W, userdata(site, 0));
	else
		work_on_mem(w, watch_call, QEMU_PLUGIN_MEM_W, userdata(site | opsize, 0));
}

static void call_indirect(struct work *w, const struct x86_insn *x, uint64_t addr, uint8_t length)
{
	uint32_t site = work_site(w, EVENT_CALL_INDIRECT, addr, length, 0);
	uint64_t data = site | (x->opsize ? WATCH_OPSIZE : 0u);

	if (!site)
		return;
	if (x->kind == X86_CALL_FAR) {
		work_on_mem(w, watch_call_far, QEMU_PLUGIN_MEM_RW, userdata(data, 0));
		return;
	}
	if (addr_is_kernel(addr))
		work_expect_result(w, 0, addr + length);
	if (x->kind == X86_CALL_REG)
		work_on_exec_regs(w, watch_target, userdata(x->reg, 0));
	work_on_mem(w, watch_call_indirect, QEMU_PLUGIN_MEM_RW, userdata(data, 0));
}

static void *jump_data(const struct work *w, uint32_t site, uint64_t addr, uint64_t reg)
{
	return (void *)(uintptr_t)(site | (addr & 0xfff) << WATCH_LONG_PAGE | (addr - w->addr) << WATCH_LONG_OFFSET |
				   reg << WATCH_LONG_REG);
}

static void jump_direct(struct work *w, const struct x86_insn *x, uint64_t addr,
			uint8_t length)
{
	uint64_t target = target_of(x, addr, length);
	bool to_return, leaves;
	uint32_t site;

	translate_leads_to(target);
	to_return = silent_thunk(w, target) == X86_THUNK_RETURN;
	leaves = work_leaves_function(w, addr, target);
	if (to_return)
		work_gives_back(w);
	else if (leaves)
		work_gives_away(w, target);
	if (!leaves || to_return || leads_through_thunk(w, EVENT_JUMP_INDIRECT, addr, length, target))
		return;
	site = work_site(w, EVENT_JUMP, addr, length, target);
	if (!site)
		return;
	if (addr_is_kernel(addr)) {
		work_on_exec(w, watch_jump_kernel, userdata(site, 0));
	} else {
		work_on_start(w, watch_rip, NULL);
		if (is_long(addr))
			work_on_exec(w, watch_jump_long, jump_data(w, site, addr, 0));
		else
			work_on_exec(w, watch_jump, userdata(site, addr - w->addr));
	}
}

/*
 * May a conditional jump without symbols, as in a program, be a call in tail position? Then it has a distance of 32
 * bits: see guest/tail_jumps.h. A place that is only far is within the same function, most often; so it has to be
 * aligned as functions are.
 */
static bool may_be_tail_call(const struct work *w, uint64_t addr, uint8_t length, uint64_t target)
{
	enum { SHORT = 2 };

	if (length <= SHORT || !kernel_found(&recorder.kernel))
		return false;
	return target % FUNCTION_ALIGNMENT == 0 ? work_leaves_function(w, addr, target)
						: map_get(&recorder.call_targets, target) != NULL;
}

/*
 * Whether a conditional jump is taken cannot be watched where it stands; when
 * it leaves its function, the place that it leads to is watched instead.
 */
static void jump_conditional(struct work *w, const struct x86_insn *x, uint64_t addr, uint8_t length)
{
	uint64_t target = target_of(x, addr, length);

	translate_leads_to(target);
	if (w->function == SYMTAB_NONE ? !may_be_tail_call(w, addr, length, target)
				       : !work_leaves_function(w, addr, target))
		return;
	work_gives_away(w, target);
	translate_expect_arrival(target);
}

static void jump_indirect(struct work *w, const struct x86_insn *x, uint64_t addr,
			  uint8_t length)
{
	uint32_t site = work_site(w, EVENT_JUMP_INDIRECT, addr, length, 0);
	uint64_t offset = addr - w->addr;

	work_gives_away(w, 0);
	if (!site)
		return;
	if (!addr_is_kernel(addr))
		work_on_start(w, watch_rip, NULL);
	if (!addr_is_kernel(addr) && is_long(addr) && x->kind == X86_JUMP_REG)
		work_on_exec_regs(w, watch_jump_reg_long, jump_data(w, site, addr, x->reg));
	else if (!addr_is_kernel(addr) && is_long(addr) && !x->opsize)
		work_on_mem(w, watch_jump_mem_long, QEMU_PLUGIN_MEM_R, jump_data(w, site, addr, 0));
	else if (x->kind == X86_JUMP_REG)
		work_on_exec_regs(w, watch_jump_reg, userdata(site, x->reg | offset << WATCH_REG_BITS));
	else
		work_on_mem(w, watch_jump_mem, QEMU_PLUGIN_MEM_R, userdata(site, offset));
}

static void jump_far(struct work *w, uint64_t addr, uint8_t length)
{
	uint32_t site = work_site(w, EVENT_JUMP_INDIRECT, addr, length, 0);

	if (site)
		work_on_mem(w, watch_jump_far, QEMU_PLUGIN_MEM_R, userdata(site, 0));
}

static void jump_far_direct(struct work *w, const struct x86_insn *x, uint64_t addr, uint8_t length)
{
	/* it leads to an absolute address, wherever it stands itself */
	uint64_t target = guest_address(far_address(x->segment, x->offset, length > 6 ? 2 : 1));
	uint32_t site = work_site(w, EVENT_JUMP_INDIRECT, addr, length, target);

	translate_leads_to(target);
	if (site)
		work_on_exec(w, watch_jump_far_direct, userdata(site, 0));
}

static void returns(struct work *w, const struct x86_insn *x, uint64_t addr, uint8_t length)
{
	uint32_t site = work_site(w, EVENT_RETURN, addr, length, 0);
	uint64_t data = site | (x->opsize ? WATCH_OPSIZE : 0u);

	if (x->kind == X86_RET)
		work_gives_back(w);
	if (!site)
		return;
	if (x->kind != X86_RET)
		work_on_mem(w, watch_return_far, QEMU_PLUGIN_MEM_R, userdata(data, 0));
	else if (is_long(addr) && !x->opsize && is_thunks_return(w, addr))
		work_on_mem(w, watch_thunk_return, QEMU_PLUGIN_MEM_R, userdata(site, 0));
	else if (is_long(addr) && !x->opsize)
		work_on_mem(w, watch_return_long, QEMU_PLUGIN_MEM_R, userdata(site, 0));
	else
		work_on_mem(w, watch_return, QEMU_PLUGIN_MEM_R, userdata(data, 0));
}

static void interrupt_return(struct work *w, uint64_t addr, uint8_t length)
{
	uint32_t site = work_site(w, EVENT_INTERRUPT_RETURN, addr, length, 0);

	if (!site)
		return;
	w->wanted[w->at] = true;
	qemu_plugin_register_vcpu_mem_cb(w->insn, watch_interrupt_return, QEMU_PLUGIN_CB_R_REGS, QEMU_PLUGIN_MEM_R,
					 userdata(site, 0));
}

static void system_call(struct work *w, enum x86_kind kind, uint64_t behind)
{
	if (w->watches != WATCH_EVENTS)
		return;
	if (kind == X86_SYSRET || kind == X86_SYSEXIT) {
		work_on_exec_regs(w, kind == X86_SYSRET ? watch_sysret : watch_sysexit, NULL);
		return;
	}
	work_on_start(w, watch_rip, NULL);
	work_on_exec_regs(w, kind == X86_SYSCALL ? watch_syscall : watch_sysenter, userdata(behind, 0));
}

static void watch_state_of(struct work *w, const struct x86_insn *x, uint64_t addr, uint8_t length)
{
	switch (x->kind) {
	case X86_HALT:
		work_on_exec(w, watch_halt, NULL);
		*map_put(&recorder.arrivals, addr + length, 0) |= RESUME;
		break;
	case X86_LIDT:
		work_on_mem(w, watch_lidt, QEMU_PLUGIN_MEM_R, NULL);
		break;
	case X86_MOV_CR:
		if (x->cr == 3)
			work_on_exec_regs(w, watch_cr3, userdata(x->reg, 0));
		break;
	case X86_OUT:
		*map_put(&recorder.arrivals, addr + length, 0) |= AFTER_OUT;
		break;
	case X86_WRMSR:
		work_on_exec_regs(w, watch_wrmsr, NULL);
		break;
	default:
		break;
	}
}

void x86_watch_transfer(struct work *w, uint64_t addr)
{
	const struct x86_insn *x = &w->decoded.x;
	uint8_t length = w->decoded.length;

	switch (x->kind) {
	case X86_CALL:
		call_direct(w, x, addr, length);
		break;
	case X86_CALL_REG:
	case X86_CALL_MEM:
	case X86_CALL_FAR:
		call_indirect(w, x, addr, length);
		break;
	case X86_RET:
	case X86_RET_FAR:
		returns(w, x, addr, length);
		break;
	case X86_JUMP:
		jump_direct(w, x, addr, length);
		break;
	case X86_JUMP_COND:
		jump_conditional(w, x, addr, length);
		break;
	case X86_JUMP_REG:
	case X86_JUMP_MEM:
		jump_indirect(w, x, addr, length);
		break;
	case X86_JUMP_FAR:
		jump_far(w, addr, length);
		break;
	case X86_JUMP_FAR_DIRECT:
		jump_far_direct(w, x, addr, length);
		break;
	case X86_SYSCALL:
	case X86_SYSRET:
	case X86_SYSENTER:
	case X86_SYSEXIT:
		system_call(w, x->kind, addr + length - w->addr);
		break;
	case X86_IRET:
		interrupt_return(w, addr, length);
		break;
	default:
		break;
	}
}

/* May control run on into what follows such an instruction, other than by coming back from a call? */
static bool runs_on(enum x86_kind kind)
{
	return kind == X86_OTHER || kind == X86_JUMP_COND || kind == X86_MOV_CR || kind == X86_LIDT ||
	       kind == X86_WRMSR || kind == X86_OUT;
}

/* May control get to what follows such an instruction at all, but for by an interrupt? */
static bool leads_on(enum x86_kind kind)
{
	switch (kind) {
	case X86_RET:
	case X86_RET_FAR:
	case X86_JUMP:
	case X86_JUMP_REG:
	case X86_JUMP_MEM:
	case X86_JUMP_FAR:
	case X86_JUMP_FAR_DIRECT:
	case X86_SYSRET:
	case X86_SYSEXIT:
	case X86_IRET:
		return false;
	default:
		return true;
	}
}

/*
 * Compilers align functions, fill what lies between them, and may begin those
 * that pointers lead to with ENDBR64. A place within a function may look so too:
 * a jump there is then one too many, which does no harm.
 */
bool x86_looks_like_function(uint64_t addr)
{
	enum { RET = 0xc3, NOP = 0x90, INT3 = 0xcc, LONG_NOP_END = 0 };
	static const uint8_t endbr64[4] = { 0xf3, 0x0f, 0x1e, 0xfa };
	uint8_t bytes[5]; /* from the one before on */

	if (!guest_read(&recorder.translate_regs, addr - 1, bytes, sizeof bytes))
		return false;
	return !memcmp(bytes + 1, endbr64, sizeof endbr64) ||
	       (addr % FUNCTION_ALIGNMENT == 0 &&
		(*bytes == RET || *bytes == NOP || *bytes == INT3 || *bytes == LONG_NOP_END));
}

struct insn_flow x86_watch_state(struct work *w, uint64_t addr, uint8_t length)
{
	uint8_t bytes[16];
	const struct x86_insn *x = &w->decoded.x;

	qemu_plugin_insn_data(w->insn, bytes, sizeof bytes);
	w->decoded = (struct cpu_insn){ .x = x86_decode(bytes, length), .length = length };
	watch_state_of(w, x, addr, length);
	return (struct insn_flow){
		.leads_on = leads_on(x->kind),
		.runs_on = runs_on(x->kind),
		/* one that repeats always ends its block: nothing is left behind it */
		.may_be_alone = x->kind == X86_OTHER && !x->repeats,
	};
}

bool x86_watch_arrival(struct work *w)
{
	uint32_t site;

	if (silent_thunk(w, w->addr) != X86_THUNK_INDIRECT)
		return false;
	site = work_site(w, EVENT_JUMP_INDIRECT, w->addr, 0, 0);
	if (site)
		work_on_start(w, watch_thunk_arrival, userdata(site, 0));
	return true;
}

int x86_handler(const struct work *w)
{
	bool start = addr_is_kernel(w->addr) && kernel_function_start(&recorder.kernel, w->function, w->addr);
	enum idt_kind kind;
	int vector;

	/* user code has no handlers */
	if ((!addr_is_kernel(w->addr) && kernel_found(&recorder.kernel) && !recorder.kernel.no_linux) ||
	    !kernel_may_handle(&recorder.kernel, w->addr))
		return -1;
	if (!start && map_get(&recorder.successors, w->addr))
		return -1;
	vector = idts_vector_of(&recorder.tables.idts, &recorder.translate_regs, guest_linear(w->addr), &kind);
	return vector < 0 ? -1 : vector | (int)kind << 8;
}
