/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "arch/x86_insn.h"
#include "arch/x86_thunks.h"
#include "recorder/boot.h"
#include "recorder/code/guest_code.h"
#include "recorder/code/objects.h"
#include "recorder/kernel/kernel_seen.h"
#include "recorder/kernel/kernel_width.h"
#include "recorder/limits.h"
#include "recorder/spans/waiting.h"
#include "recorder/values/arguments.h"
#include "recorder/values/probes.h"
#include "recorder/values/returns.h"
#include "recorder/values/trace_events.h"
#include "watch.h"

enum {
	BLOCK_MAX = 512,     /* QEMU's own limit */
	FUNCTION_ALIGNMENT = 16, /* compilers' own; without symbols it tells functions from other places */
	LOCAL_JUMP = 4096,   /* without symbols: a nearer direct jump is taken to stay in its function */
};

/* Why a place in recorder.arrivals is watched, as bits. */
enum { ARRIVE = 1, RESUME = 2, AFTER_OUT = 4 };

/* A block under translation. */
struct work {
	struct qemu_plugin_tb *tb;
	uint64_t addr, end;
	size_t n;
	uint8_t lengths[BLOCK_MAX];
	bool wanted[BLOCK_MAX]; /* instructions at which a callback asks what they load or store */
	struct qemu_plugin_insn *insn; /* the one that is looked at … */
	size_t at;                     /* … and its index */
	struct block *block;    /* NULL: what waits keeps none */
	enum watching watches;
	long function; /* the kernel's, at the instruction that is looked at; or SYMTAB_NONE */
};

static void *userdata(uint64_t low, uint64_t high)
{
	return (void *)(uintptr_t)(low | high << WATCH_ABOVE);
}

static uint64_t identity(const struct site *s)
{
	return hash64(s->addr ^ (uint64_t)s->kind << 56) ^ hash64(s->target * 3 + s->length);
}

uint32_t translate_site(const struct site *site)
{
	uint64_t *known = map_put(&recorder.site_numbers, identity(site), 0);
	const struct site *old = *known ? sites_get(&recorder.sites, (uint32_t)*known) : NULL;

	if (!old || old->addr != site->addr || old->kind != site->kind || old->target != site->target)
		*known = sites_add(&recorder.sites, site);
	return (uint32_t)*known;
}

/* A transfer that no site could be made for: count it where it happens. */
static void give_up(struct work *w)
{
	qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(w->insn, QEMU_PLUGIN_INLINE_ADD_U64, recorder.unwatched, 1);
}

static uint32_t make_any_site(struct work *w, enum event_kind kind, uint64_t addr, uint8_t length, uint64_t target)
{
	uint32_t number = translate_site(&(struct site){
		.kind = kind, .addr = addr, .length = length, .target = target,
	});

	if (!number)
		give_up(w);
	return number;
}

/* The same for an event that is recorded only within spans: 0 outside. */
static uint32_t make_site(struct work *w, enum event_kind kind, uint64_t addr, uint8_t length, uint64_t target)
{
	return w->watches == WATCH_EVENTS ? make_any_site(w, kind, addr, length, target) : 0;
}

/* A callback that asks for an access's address only. */
static void on_address(struct work *w, qemu_plugin_vcpu_mem_cb_t cb, enum qemu_plugin_mem_rw rw, void *data)
{
	qemu_plugin_register_vcpu_mem_cb(w->insn, cb, QEMU_PLUGIN_CB_NO_REGS, rw, data);
}

/* A callback that asks what was loaded or stored, too: QEMU has to keep it. */
static void on_mem(struct work *w, qemu_plugin_vcpu_mem_cb_t cb, enum qemu_plugin_mem_rw rw, void *data)
{
	w->wanted[w->at] = true;
	on_address(w, cb, rw, data);
}

static void on_exec(struct work *w, qemu_plugin_vcpu_udata_cb_t cb, void *data)
{
	qemu_plugin_register_vcpu_insn_exec_cb(w->insn, cb, QEMU_PLUGIN_CB_NO_REGS, data);
}

static void on_exec_regs(struct work *w, qemu_plugin_vcpu_udata_cb_t cb, void *data)
{
	qemu_plugin_register_vcpu_insn_exec_cb(w->insn, cb, QEMU_PLUGIN_CB_R_REGS, data);
}

static void on_start(struct work *w, qemu_plugin_vcpu_udata_cb_t cb, void *data)
{
	qemu_plugin_register_vcpu_tb_exec_cb(w->tb, cb, QEMU_PLUGIN_CB_R_REGS, data);
}

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

/* The hook at the beginning of the kernel's function that is translated, or NULL. */
static const struct hook *hook_of_function(const struct work *w)
{
	uint64_t start, end;

	if (w->function == SYMTAB_NONE)
		return NULL;
	kernel_bounds(&recorder.kernel, w->function, &start, &end);
	return kernel_hook_at(&recorder.kernel, start);
}

/* The kind of thunk whose steps are not recorded that the place is in. */
static enum x86_thunk silent_thunk(const struct work *w, uint64_t addr)
{
	return w->watches == WATCH_EVENTS && addr_is_kernel(addr) ? thunks_kind(&recorder.thunks, addr) : X86_NO_THUNK;
}

/* A call or jump to a thunk that stands for what a register holds: it is told of where the thunk leaves. */
static bool leads_through_thunk(struct work *w, enum event_kind kind, uint64_t addr, uint8_t length, uint64_t target)
{
	uint32_t site;

	if (silent_thunk(w, target) != X86_THUNK_INDIRECT || !addr_is_kernel(addr) ||
	    silent_thunk(w, addr) == X86_THUNK_INDIRECT)
		return false;
	site = make_site(w, kind, addr, length, 0);
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
	       thunks_at(&recorder.thunks, target) == thunks_at(&recorder.thunks, addr);
}

static bool is_thunk(uint64_t addr)
{
	struct kernel *k = &recorder.kernel;
	long function = symtab_lookup(&k->tab, addr - k->slide);

	return function != SYMTAB_NONE && x86_is_thunk(symtab_name(&k->tab, (uint32_t)function));
}

/*
 * A call in the kernel, with 0 for a target that is not known: where it will return to, a block begins. Is the result
 * to be told?
 */
static void expect_result(const struct work *w, uint64_t target, uint64_t returns_to)
{
	const struct hook *called = target ? kernel_hook_at(&recorder.kernel, target) : NULL,
			  *caller = hook_of_function(w);
	const struct hook *hook = called && called->has_result ? called : NULL;

	if (caller && caller->calls && (!target || is_thunk(target)))
		hook = caller;
	if (hook)
		*map_put(&recorder.results, returns_to, 0) = (uint64_t)(hook - hooks) + 1;
}

/* The number, among those whose returns are watched, of the function that is translated, + 1; 0: none. */
static uint32_t watched_function(const struct work *w)
{
	uint64_t start, end;

	if (w->watches != WATCH_EVENTS || w->function == SYMTAB_NONE || !returns_are_watched())
		return 0;
	kernel_bounds(&recorder.kernel, w->function, &start, &end);
	return returns_at(start);
}

/*
 * A chosen function returns here: at a return, or at a jump to a return thunk; or others do that were left for this
 * one.
 */
static void give_back(struct work *w)
{
	uint32_t number = watched_function(w);

	if (number)
		on_exec_regs(w, watch_own_return, userdata(number - 1, w->n - w->at));
	if (w->watches == WATCH_EVENTS && returns_are_watched() &&
	    (w->function != SYMTAB_NONE || (probes_watch_programs() && !addr_is_kernel(w->addr))))
		qemu_plugin_register_vcpu_insn_exec_cond_cb(w->insn, watch_left_return, QEMU_PLUGIN_CB_R_REGS,
							    QEMU_PLUGIN_COND_NE, recorder.left, 0,
							    (void *)(uintptr_t)(w->n - w->at));
}

/* A chosen function may go on by that jump to another one, which then returns for it. */
static void give_away(struct work *w)
{
	uint32_t number = watched_function(w);

	if (number)
		on_exec_regs(w, watch_leaves, (void *)(uintptr_t)(number - 1));
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
		expect_result(w, target, addr + length);
	if (is_thunks_call(w, addr, target) || leads_through_thunk(w, EVENT_CALL_INDIRECT, addr, length, target))
		return;
	site = make_site(w, EVENT_CALL, addr, length, target);
	if (!site)
		return;
	if (addr_is_kernel(addr))
		on_address(w, guest_is_narrow() ? watch_call_narrow : watch_call_kernel, QEMU_PLUGIN_MEM_W,
			   userdata(site, 0));
	else if (is_long(addr) && !x->opsize)
		on_mem(w, watch_call_long, QEMU_PLUGIN_MEM_W, userdata(site, 0));
	else
		on_mem(w, watch_call, QEMU_PLUGIN_MEM_W, userdata(site | opsize, 0));
}

static void call_indirect(struct work *w, const struct x86_insn *x, uint64_t addr, uint8_t length)
{
	uint32_t site = make_site(w, EVENT_CALL_INDIRECT, addr, length, 0);
	uint64_t data = site | (x->opsize ? WATCH_OPSIZE : 0u);

	if (!site)
		return;
	if (x->kind == X86_CALL_FAR) {
		on_mem(w, watch_call_far, QEMU_PLUGIN_MEM_RW, userdata(data, 0));
		return;
	}
	if (addr_is_kernel(addr))
		expect_result(w, 0, addr + length);
	if (x->kind == X86_CALL_REG)
		on_exec_regs(w, watch_target, userdata(x->reg, 0));
	on_mem(w, watch_call_indirect, QEMU_PLUGIN_MEM_RW, userdata(data, 0));
}

/*
 * Compilers align functions, fill what lies between them, and may begin those
 * that pointers lead to with ENDBR64. A place within a function may look so too:
 * a jump there is then one too many, which does no harm.
 */
static bool looks_like_function(uint64_t target)
{
	enum { RET = 0xc3, NOP = 0x90, INT3 = 0xcc, LONG_NOP_END = 0 };
	static const uint8_t endbr64[4] = { 0xf3, 0x0f, 0x1e, 0xfa };
	uint8_t bytes[5]; /* from the one before on */

	if (!guest_read(&recorder.translate_regs, target - 1, bytes, sizeof bytes))
		return false;
	return !memcmp(bytes + 1, endbr64, sizeof endbr64) ||
	       (target % FUNCTION_ALIGNMENT == 0 &&
		(*bytes == RET || *bytes == NOP || *bytes == INT3 || *bytes == LONG_NOP_END));
}

static bool leaves_function(const struct work *w, uint64_t addr, uint64_t target)
{
	uint64_t distance = target > addr ? target - addr : addr - target;

	if (w->function != SYMTAB_NONE)
		return w->function != kernel_function_near(&recorder.kernel, w->function, target);
	return distance >= LOCAL_JUMP || map_get(&recorder.call_targets, target) || looks_like_function(target);
}

/* Code leads to that place by itself: what begins there need not be an interrupt's handler. */
static void leads_to(uint64_t addr)
{
	if (kernel_may_handle(&recorder.kernel, addr))
		*map_put(&recorder.successors, addr, 1) = 1;
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

	leads_to(target);
	to_return = silent_thunk(w, target) == X86_THUNK_RETURN;
	leaves = leaves_function(w, addr, target);
	if (to_return)
		give_back(w);
	else if (leaves)
		give_away(w);
	if (!leaves || to_return || leads_through_thunk(w, EVENT_JUMP_INDIRECT, addr, length, target))
		return;
	site = make_site(w, EVENT_JUMP, addr, length, target);
	if (!site)
		return;
	if (addr_is_kernel(addr)) {
		on_exec(w, watch_jump_kernel, userdata(site, 0));
	} else {
		on_start(w, watch_rip, NULL);
		if (is_long(addr))
			on_exec(w, watch_jump_long, jump_data(w, site, addr, 0));
		else
			on_exec(w, watch_jump, userdata(site, addr - w->addr));
	}
}

/* Watch a place that another function leads to without a transfer that can be watched itself. */
static void expect_arrival(uint64_t addr)
{
	uint64_t *why = map_put(&recorder.arrivals, addr, 0);
	const uint64_t *page = map_get(&recorder.blocks.pages, addr >> 12);

	for (uint32_t i = !(*why & ARRIVE) && page ? (uint32_t)*page : 0; i; i = blocks_get(&recorder.blocks, i)->next)
		if (blocks_get(&recorder.blocks, i)->addr == addr) {
			recorder.late_arrivals++;
			break;
		}
	*why |= ARRIVE;
}

void translate_expect(uint64_t addr)
{
	*map_put(&recorder.arrivals, addr, 0) |= ARRIVE;
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
 * May a conditional jump without symbols, as in a program, be a call in tail position? Then it has a distance of 32
 * bits: see guest/tail_jumps.h. A place that is only far is within the same function, most often; so it has to be
 * aligned as functions are.
 */
static bool may_be_tail_call(const struct work *w, uint64_t addr, uint8_t length, uint64_t target)
{
	enum { SHORT = 2 };

	if (length <= SHORT || !kernel_found(&recorder.kernel))
		return false;
	return target % FUNCTION_ALIGNMENT == 0 ? leaves_function(w, addr, target)
						: map_get(&recorder.call_targets, target) != NULL;
}

/*
 * Whether a conditional jump is taken cannot be watched where it stands; when
 * it leaves its function, the place that it leads to is watched instead.
 */
static void jump_conditional(struct work *w, const struct x86_insn *x, uint64_t addr, uint8_t length)
{
	uint64_t target = target_of(x, addr, length);

	leads_to(target);
	if (w->function == SYMTAB_NONE ? !may_be_tail_call(w, addr, length, target) : !leaves_function(w, addr, target))
		return;
	give_away(w);
	expect_arrival(target);
}

static void jump_indirect(struct work *w, const struct x86_insn *x, uint64_t addr,
			  uint8_t length)
{
	uint32_t site = make_site(w, EVENT_JUMP_INDIRECT, addr, length, 0);
	uint64_t offset = addr - w->addr;

	give_away(w);
	if (!site)
		return;
	if (!addr_is_kernel(addr))
		on_start(w, watch_rip, NULL);
	if (!addr_is_kernel(addr) && is_long(addr) && x->kind == X86_JUMP_REG)
		on_exec_regs(w, watch_jump_reg_long, jump_data(w, site, addr, x->reg));
	else if (!addr_is_kernel(addr) && is_long(addr) && !x->opsize)
		on_mem(w, watch_jump_mem_long, QEMU_PLUGIN_MEM_R, jump_data(w, site, addr, 0));
	else if (x->kind == X86_JUMP_REG)
		on_exec_regs(w, watch_jump_reg, userdata(site, x->reg | offset << WATCH_REG_BITS));
	else
		on_mem(w, watch_jump_mem, QEMU_PLUGIN_MEM_R, userdata(site, offset));
}

static void jump_far(struct work *w, uint64_t addr, uint8_t length)
{
	uint32_t site = make_site(w, EVENT_JUMP_INDIRECT, addr, length, 0);

	if (site)
		on_mem(w, watch_jump_far, QEMU_PLUGIN_MEM_R, userdata(site, 0));
}

static void jump_far_direct(struct work *w, const struct x86_insn *x, uint64_t addr, uint8_t length)
{
	/* it leads to an absolute address, wherever it stands itself */
	uint64_t target = guest_address(far_address(x->segment, x->offset, length > 6 ? 2 : 1));
	uint32_t site = make_site(w, EVENT_JUMP_INDIRECT, addr, length, target);

	leads_to(target);
	if (site)
		on_exec(w, watch_jump_far_direct, userdata(site, 0));
}

static void returns(struct work *w, const struct x86_insn *x, uint64_t addr, uint8_t length)
{
	uint32_t site = make_site(w, EVENT_RETURN, addr, length, 0);
	uint64_t data = site | (x->opsize ? WATCH_OPSIZE : 0u);

	if (x->kind == X86_RET)
		give_back(w);
	if (!site)
		return;
	if (x->kind != X86_RET)
		on_mem(w, watch_return_far, QEMU_PLUGIN_MEM_R, userdata(data, 0));
	else if (is_long(addr) && !x->opsize && is_thunks_return(w, addr))
		on_mem(w, watch_thunk_return, QEMU_PLUGIN_MEM_R, userdata(site, 0));
	else if (is_long(addr) && !x->opsize)
		on_mem(w, watch_return_long, QEMU_PLUGIN_MEM_R, userdata(site, 0));
	else
		on_mem(w, watch_return, QEMU_PLUGIN_MEM_R, userdata(data, 0));
}

static void interrupt_return(struct work *w, uint64_t addr, uint8_t length)
{
	uint32_t site = make_site(w, EVENT_INTERRUPT_RETURN, addr, length, 0);

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
		on_exec_regs(w, kind == X86_SYSRET ? watch_sysret : watch_sysexit, NULL);
		return;
	}
	on_start(w, watch_rip, NULL);
	on_exec_regs(w, kind == X86_SYSCALL ? watch_syscall : watch_sysenter, userdata(behind, 0));
}

/* What changes the state of a vCPU. */
static void instrument_state(struct work *w, const struct x86_insn *x, uint64_t addr, uint8_t length)
{
	switch (x->kind) {
	case X86_HALT:
		on_exec(w, watch_halt, NULL);
		*map_put(&recorder.arrivals, addr + length, 0) |= RESUME;
		break;
	case X86_LIDT:
		on_mem(w, watch_lidt, QEMU_PLUGIN_MEM_R, NULL);
		break;
	case X86_MOV_CR:
		if (x->cr == 3)
			on_exec_regs(w, watch_cr3, userdata(x->reg, 0));
		break;
	case X86_OUT:
		*map_put(&recorder.arrivals, addr + length, 0) |= AFTER_OUT;
		break;
	case X86_WRMSR:
		on_exec_regs(w, watch_wrmsr, NULL);
		break;
	default:
		break;
	}
}

/* Where control goes, and what it leads to. */
static void instrument(struct work *w, const struct x86_insn *x, uint64_t addr,
		       uint8_t length)
{
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

/* Which interrupt's handler begins with the block; -1: none's. */
static int handled_vector(const struct work *w, enum idt_kind *ret_kind)
{
	bool start = addr_is_kernel(w->addr) && kernel_function_start(&recorder.kernel, w->function, w->addr);

	/* user code has no handlers */
	if ((!addr_is_kernel(w->addr) && kernel_found(&recorder.kernel) && !recorder.kernel.no_linux) ||
	    !kernel_may_handle(&recorder.kernel, w->addr))
		return -1;
	if (!start && map_get(&recorder.successors, w->addr))
		return -1;
	return idts_vector_of(&recorder.idts, &recorder.translate_regs, guest_linear(w->addr), ret_kind);
}

static void look_for_handler(struct work *w)
{
	enum idt_kind kind;
	int vector = handled_vector(w, &kind);

	if (vector >= 0)
		w->block->vector = (int16_t)(vector | kind << 8);
}

/* Entry code runs from label to label in every way there is: each is watched. */
static bool is_entry_label(const struct work *w)
{
	struct kernel *k = &recorder.kernel;

	return w->addr >= k->entry_start && w->addr < k->entry_end && kernel_function_start(k, w->function, w->addr);
}

/* A startup interrupt has a vCPU begin at the first instruction of a page below 1 MiB: Intel SDM vol. 3, 11.4.4. */
static bool may_start(uint64_t addr)
{
	return addr < 0x100000 && !(addr & 0xfff);
}

/*
 * Where a boot begins: at the reset vector (Intel SDM vol. 3, 10.1.4), or where a kernel goes to low memory to start
 * another.
 */
static void look_for_boot(struct work *w)
{
	enum { RESET_VECTOR = 0xfffffff0u };
	bool reset = w->addr == RESET_VECTOR;
	uint32_t site;

	if (!reset && (!recorder.kexec || addr_is_kernel(w->addr)))
		return;
	site = make_any_site(w, EVENT_ARRIVE, w->addr, 0, 0);
	if (site)
		on_start(w, reset ? watch_reset : watch_kexec, userdata(site, 0));
}

/* What waits does not watch interrupts, but has to know that a vCPU goes on: the span may begin in the handler. */
static bool ends_halt(const struct work *w)
{
	enum idt_kind kind;

	return w->watches == WATCH_STATE && !recorder.told_interrupts && handled_vector(w, &kind) >= 0;
}

/*
 * Tasks may not be switched for long, and no new code come: look at the clock each so many instructions of the vCPU,
 * too.
 */
static void look_often(struct work *w)
{
	enum { LOOK_INSNS = 1 << 20 };

	qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(w->tb, QEMU_PLUGIN_INLINE_ADD_U64, recorder.unlooked, w->n);
	qemu_plugin_register_vcpu_tb_exec_cond_cb(w->tb, watch_often, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_COND_GE,
						  recorder.unlooked, LOOK_INSNS, NULL);
}

/* What has to be called when the block begins, before its instructions are counted. */
static void instrument_start(struct work *w, const struct hook *hook)
{
	const uint64_t *arrival = map_get(&recorder.arrivals, w->addr), *result = map_get(&recorder.results, w->addr);
	bool arrives = (arrival && *arrival & ARRIVE) || is_entry_label(w);
	uint64_t number;
	uint32_t site;

	look_for_boot(w);
	if (waiting_for_entry(w->addr) && w->block->vector >= 0)
		on_start(w, watch_awaited_handler, userdata(w->block->number, arrives));
	else if (waiting_for_entry(w->addr))
		on_start(w, arrives ? watch_awaited_arrival : watch_awaited, (void *)(uintptr_t)w->addr);
	if (waiting_for_inner(w->addr, w->end))
		on_start(w, watch_awaited_ahead, (void *)(uintptr_t)w->addr);
	if (may_start(w->addr))
		on_start(w, watch_start, NULL);
	if (waiting_for_snapshot())
		on_start(w, watch_snapshot, userdata(w->n, 0));
	if (waiting_for_vcpus() && !(w->block && w->block->vector >= 0))
		on_start(w, watch_first, userdata(w->n, 0));
	if ((arrival && *arrival & RESUME) || ends_halt(w))
		on_start(w, watch_resume, userdata(w->n, 0));
	if (arrival && *arrival & AFTER_OUT && inside_has(INSIDE_SHUTDOWN))
		on_start(w, watch_shutdown, userdata(w->n, 0));
	if (w->block && w->block->vector >= 0)
		on_start(w, watch_interrupt, userdata(w->block->number, 0));
	if (arrives && silent_thunk(w, w->addr) == X86_THUNK_INDIRECT) {
		site = make_site(w, EVENT_JUMP_INDIRECT, w->addr, 0, 0);
		if (site)
			on_start(w, watch_thunk_arrival, userdata(site, 0));
	} else if (arrives) {
		site = make_site(w, EVENT_ARRIVE, w->addr, 0, 0);
		if (site && !addr_is_kernel(w->addr))
			on_start(w, watch_rip, NULL);
		if (site)
			on_start(w, addr_is_kernel(w->addr) ? watch_arrive : watch_arrive_user, userdata(site, 0));
	}
	if (w->watches == WATCH_EVENTS && (number = arguments_at(w->addr)))
		on_start(w, watch_args, (void *)(uintptr_t)(number - 1));
	if (w->watches == WATCH_EVENTS && trace_events_at_entry(w->addr))
		on_start(w, trace_events_at_entry(w->addr), NULL);
	if (hook && hook->watch && (hook->watch != watch_fact || w->watches == WATCH_EVENTS))
		on_start(w, hook->watch, (void *)(uintptr_t)hook);
	if (result && *result && w->watches == WATCH_EVENTS)
		on_start(w, watch_result, (void *)(uintptr_t)&hooks[*result - 1]);
}

/* A function that begins within the block was run into by the one before it. */
static void run_into(struct work *w, uint64_t addr)
{
	uint32_t site;

	if (!kernel_function_start(&recorder.kernel, w->function, addr))
		return;
	if (waiting_for_entry(addr))
		on_exec(w, watch_ran_into, NULL);
	site = make_site(w, EVENT_ARRIVE, addr, 0, 0);
	if (site && !addr_is_kernel(w->addr))
		on_start(w, watch_rip, NULL);
	if (site)
		on_exec(w, addr_is_kernel(addr) ? watch_arrive : watch_arrive_user, userdata(site, w->n - w->at));
}

static void count(struct work *w)
{
	qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(w->tb, QEMU_PLUGIN_INLINE_ADD_U64, recorder.insns, w->n);
}

static void tell_block(struct work *w)
{
	qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(w->tb, QEMU_PLUGIN_INLINE_STORE_U64, recorder.block,
							  w->block->number);
}

/*
 * Might the block be an instruction that was to be run alone, from the middle
 * of another? One that repeats always ends its block: nothing is left behind it.
 */
static bool is_single(const struct work *w, const struct x86_insn *last)
{
	return w->n == 1 && last->kind == X86_OTHER && !last->repeats;
}

static void look_at(struct work *w, size_t i)
{
	w->at = i;
	w->insn = qemu_plugin_tb_get_insn(w->tb, i);
	w->wanted[i] = false;
}

/*
 * The function that the block begins in. What waits asks only whether a handler or a label of entry code begins there.
 */
static long function_at_start(const struct work *w)
{
	if (w->watches == WATCH_STATE && !kernel_may_handle(&recorder.kernel, w->addr))
		return SYMTAB_NONE;
	return kernel_function(&recorder.kernel, w->addr);
}

/* Know the block again when it is left in its middle. False: there is no room for more. */
static bool keep_block(struct work *w)
{
	int new;

	w->block = blocks_add(&recorder.blocks, w->addr, w->lengths, (uint16_t)w->n, &new);
	if (!w->block)
		limits_reached(LIMIT_BLOCKS);
	else if (new && !recorder.told_interrupts)
		look_for_handler(w);
	return w->block;
}

/* A jump label that stands for a trace event: there it is made. */
static void look_for_event(struct work *w, uint64_t addr)
{
	uint32_t number = w->watches == WATCH_EVENTS ? trace_events_at(addr) : 0;

	if (number)
		on_exec_regs(w, watch_event_label, userdata(number - 1, w->n - w->at));
}

static void look_in_program(struct work *w, uint64_t addr)
{
	for (uint32_t number = 0; (number = probes_in_program(addr, number));) {
		on_start(w, watch_rip, NULL);
		on_exec_regs(w, probe_returns(number) ? watch_program_enters : watch_program_probe,
			     userdata(number, (w->n - w->at) | (addr - w->addr) << WATCH_PROBE_OFFSET));
	}
}

static void look_for_probe(struct work *w, uint64_t addr)
{
	uint32_t number = w->watches == WATCH_EVENTS ? probes_at(addr) : 0;

	if (w->watches == WATCH_EVENTS && probes_watch_programs() && !addr_is_kernel(addr))
		look_in_program(w, addr);

	if (w->watches == WATCH_EVENTS && probes_want_entry(addr))
		on_exec_regs(w, watch_probe_entry, (void *)(uintptr_t)addr);
	if (number)
		on_exec_regs(w, watch_probe, userdata(number, w->n - w->at));
}

/* Instruction by instruction. Returns the last one. */
static struct x86_insn instrument_all(struct work *w)
{
	uint64_t addr = w->addr;
	struct x86_insn x = { 0 };

	for (size_t i = 0; i < w->n; i++) {
		uint8_t bytes[16];

		look_at(w, i);
		qemu_plugin_insn_data(w->insn, bytes, sizeof bytes);
		x = x86_decode(bytes, w->lengths[i]);
		instrument_state(w, &x, addr, w->lengths[i]);
		if (w->watches != WATCH_STATE) {
			w->function = kernel_function_near(&recorder.kernel, w->function, addr);
			if (i && w->function != SYMTAB_NONE)
				run_into(w, addr);
			instrument(w, &x, addr, w->lengths[i]);
			look_for_event(w, addr);
			look_for_probe(w, addr);
		}
		addr += w->lengths[i];
	}
	if (w->watches == WATCH_STATE)
		return x;
	w->function = kernel_function_near(&recorder.kernel, w->function, addr);
	if (leads_on(x.kind))
		leads_to(addr);
	if (runs_on(x.kind) && kernel_function_start(&recorder.kernel, w->function, addr))
		expect_arrival(addr);
	return x;
}

/* Is it of a program, which does not change the vCPU's state, and is not recorded? */
static bool is_users(const struct work *w)
{
	return w->watches == WATCH_STATE && kernel_found(&recorder.kernel) && !recorder.kernel.no_linux &&
	       !addr_is_kernel(w->addr);
}

/* In a handler's first block no clock may be told yet: what a fault left is taken back only when the block begins. */
static bool begins_handler(const struct work *w)
{
	enum idt_kind kind;

	return !recorder.told_interrupts && handled_vector(w, &kind) >= 0;
}

/* Before the kernel was found. */
static void look_around(struct work *w)
{
	w->function = SYMTAB_NONE;
	if (kernel_may_be_at(&recorder.translate_regs, w->addr) && !begins_handler(w))
		kernel_seen_look(w->addr);
	else if (!addr_is_kernel(w->addr))
		kernel_seen_look_for_efi(w->addr);
}

/* Where all is recorded, the jump there tells (drain.c). */
static void look_for_decompressor(const struct work *w)
{
	if (w->addr == CODE32_START && w->watches != WATCH_EVENTS && !kernel_found(&recorder.kernel) &&
	    pthread_equal(pthread_self(), recorder.boot_thread))
		drain_decompressor(vcpu_get(0)->live->insns, watch_clock(0));
}

static void translate(struct work *w)
{
	const struct hook *hook;
	struct x86_insn last = { 0 };
	uint64_t addr;
	bool single;

	if (!kernel_found(&recorder.kernel))
		look_around(w);
	w->addr = w->end = addr = guest_address(w->addr);
	for (size_t i = 0; i < w->n; i++) {
		w->lengths[i] = (uint8_t)qemu_plugin_insn_size(qemu_plugin_tb_get_insn(w->tb, i));
		w->end += w->lengths[i];
	}
	w->function = SYMTAB_NONE;
	if (objects_awaited() && !begins_handler(w))
		objects_look(addr);
	hook = kernel_found(&recorder.kernel) ? kernel_hook_at(&recorder.kernel, addr) : NULL;
	w->watches = waiting_watches(addr, w->end, hook);
	look_for_decompressor(w);
	w->function = function_at_start(w);
	w->block = NULL;
	if (w->watches != WATCH_STATE && !keep_block(w)) {
		count(w);
		return;
	}
	look_at(w, 0);
	if (waiting_for_time())
		look_often(w);
	instrument_start(w, hook);
	if (is_users(w))
		memset(w->wanted, 0, w->n * sizeof *w->wanted);
	else
		last = instrument_all(w);
	if (w->watches != WATCH_STATE) {
		count(w);
		single = is_single(w, &last);
		if (single)
			on_address(w, watch_single, QEMU_PLUGIN_MEM_RW, userdata(w->block->number, 0));
		if (!addr_is_kernel(w->addr) || single || recorder.cuts_blocks)
			tell_block(w);
	}
	recorder.stores_dropped += stores_drop(w->wanted, w->n);
}

void translate_block(struct qemu_plugin_tb *tb)
{
	struct work w; /* its arrays are not worth clearing for each block */

	w.tb = tb;
	w.addr = qemu_plugin_tb_vaddr(tb);
	w.n = qemu_plugin_tb_n_insns(tb);
	if (w.n > BLOCK_MAX)
		w.n = BLOCK_MAX;
	waiting_snapshot_loaded();
	pthread_mutex_lock(&recorder.lock);
	recorder_find_live();
	recorder.stats->begun = 1;
	translate(&w);
	pthread_mutex_unlock(&recorder.lock);
	if (pthread_equal(pthread_self(), recorder.boot_thread))
		waiting_look(vcpu_get(0));
}
