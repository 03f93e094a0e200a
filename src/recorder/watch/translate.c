/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "translate.h"

#include <string.h>

#include "recorder/code/guest_code.h"
#include "recorder/code/objects.h"
#include "recorder/cpu.h"
#include "recorder/kernel/kernel_seen.h"
#include "recorder/kernel/guest_address.h"
#include "recorder/limits.h"
#include "recorder/values/arguments.h"
#include "recorder/values/probes.h"
#include "recorder/values/returns.h"
#include "recorder/values/trace_events.h"

enum { LOCAL_JUMP = 4096 }; /* without symbols: a nearer direct jump is taken to stay in its function */

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

static uint32_t any_site(struct work *w, enum event_kind kind, uint64_t addr, uint8_t length, uint64_t target)
{
	uint32_t number = translate_site(&(struct site){
		.kind = kind, .addr = addr, .length = length, .target = target,
	});

	if (!number)
		give_up(w);
	return number;
}

uint32_t work_site(struct work *w, enum event_kind kind, uint64_t addr, uint8_t length, uint64_t target)
{
	return w->watches == WATCH_EVENTS ? any_site(w, kind, addr, length, target) : 0;
}

void work_on_address(struct work *w, qemu_plugin_vcpu_mem_cb_t cb, enum qemu_plugin_mem_rw rw, void *data)
{
	qemu_plugin_register_vcpu_mem_cb(w->insn, cb, QEMU_PLUGIN_CB_NO_REGS, rw, data);
}

void work_on_mem(struct work *w, qemu_plugin_vcpu_mem_cb_t cb, enum qemu_plugin_mem_rw rw, void *data)
{
	w->wanted[w->at] = true;
	work_on_address(w, cb, rw, data);
}

void work_on_exec(struct work *w, qemu_plugin_vcpu_udata_cb_t cb, void *data)
{
	qemu_plugin_register_vcpu_insn_exec_cb(w->insn, cb, QEMU_PLUGIN_CB_NO_REGS, data);
}

void work_on_exec_regs(struct work *w, qemu_plugin_vcpu_udata_cb_t cb, void *data)
{
	qemu_plugin_register_vcpu_insn_exec_cb(w->insn, cb, QEMU_PLUGIN_CB_R_REGS, data);
}

void work_on_start(struct work *w, qemu_plugin_vcpu_udata_cb_t cb, void *data)
{
	qemu_plugin_register_vcpu_tb_exec_cb(w->tb, cb, QEMU_PLUGIN_CB_R_REGS, data);
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

static bool is_thunk(uint64_t addr)
{
	struct kernel *k = &recorder.kernel;
	long function = symtab_lookup(&k->tab, addr - k->slide);

	return function != SYMTAB_NONE && recorder.cpu->arch->is_thunk(symtab_name(&k->tab, (uint32_t)function));
}

void work_expect_result(const struct work *w, uint64_t target, uint64_t returns_to)
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
	return w->watches == WATCH_EVENTS ? returns_of(w->function) : 0;
}

void work_gives_back(struct work *w)
{
	uint32_t number = watched_function(w);

	if (number)
		work_on_exec_regs(w, watch_own_return, userdata(number - 1, w->n - w->at));
	if (w->watches == WATCH_EVENTS && returns_are_watched() &&
	    (w->function != SYMTAB_NONE || (probes_watch_programs() && !addr_is_kernel(w->addr))))
		qemu_plugin_register_vcpu_insn_exec_cond_cb(w->insn, watch_left_return, QEMU_PLUGIN_CB_R_REGS,
							    QEMU_PLUGIN_COND_NE, recorder.left, 0,
							    (void *)(uintptr_t)(w->n - w->at));
}

void work_gives_away(struct work *w, uint64_t target)
{
	uint32_t number = watched_function(w);

	if (number && (!target || returns_of(kernel_function(&recorder.kernel, target)) != number))
		work_on_exec_regs(w, target ? watch_leaves : watch_may_leave, (void *)(uintptr_t)(number - 1));
}

bool work_leaves_function(const struct work *w, uint64_t addr, uint64_t target)
{
	uint64_t distance = target > addr ? target - addr : addr - target;

	if (w->function != SYMTAB_NONE)
		return w->function != kernel_function_near(&recorder.kernel, w->function, target);
	return distance >= LOCAL_JUMP || map_get(&recorder.call_targets, target) ||
	       recorder.cpu->looks_like_function(target);
}

void translate_leads_to(uint64_t addr)
{
	if (kernel_may_handle(&recorder.kernel, addr))
		*map_put(&recorder.successors, addr, 1) = 1;
}

void translate_expect_arrival(uint64_t addr)
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

/* Entry code runs from label to label in every way there is: each is watched. */
static bool is_entry_label(const struct work *w)
{
	struct kernel *k = &recorder.kernel;

	return w->addr >= k->entry_start && w->addr < k->entry_end && kernel_function_start(k, w->function, w->addr);
}

/* Where a boot begins: at the reset vector, or where a kernel goes to low memory to start another. */
static void look_for_boot(struct work *w)
{
	bool reset = w->addr == recorder.cpu->reset;
	uint32_t site;

	if (!reset && (!recorder.kexec || addr_is_kernel(w->addr)))
		return;
	site = any_site(w, EVENT_ARRIVE, w->addr, 0, 0);
	if (site)
		work_on_start(w, reset ? watch_reset : watch_kexec, userdata(site, 0));
}

/* What waits does not watch interrupts, but has to know that a vCPU goes on: the span may begin in the handler. */
static bool ends_halt(const struct work *w)
{
	return w->watches == WATCH_STATE && !recorder.told_interrupts && recorder.cpu->handler(w) >= 0;
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
		work_on_start(w, watch_awaited_handler, userdata(w->block->number, arrives));
	else if (waiting_for_entry(w->addr))
		work_on_start(w, arrives ? watch_awaited_arrival : watch_awaited, (void *)(uintptr_t)w->addr);
	if (waiting_for_inner(w->addr, w->end))
		work_on_start(w, watch_awaited_ahead, (void *)(uintptr_t)w->addr);
	if (recorder.cpu->may_start(w->addr))
		work_on_start(w, watch_start, NULL);
	if (waiting_for_snapshot())
		work_on_start(w, watch_snapshot, userdata(w->n, 0));
	if (waiting_for_vcpus() && !(w->block && w->block->vector >= 0))
		work_on_start(w, watch_first, userdata(w->n, 0));
	if ((arrival && *arrival & RESUME) || ends_halt(w))
		work_on_start(w, watch_resume, userdata(w->n, 0));
	if (arrival && *arrival & AFTER_OUT && inside_has(INSIDE_SHUTDOWN))
		work_on_start(w, watch_shutdown, userdata(w->n, 0));
	if (w->block && w->block->vector >= 0)
		work_on_start(w, watch_interrupt, userdata(w->block->number, 0));
	if (arrives && !recorder.cpu->watch_arrival(w)) {
		site = work_site(w, EVENT_ARRIVE, w->addr, 0, 0);
		if (site && !addr_is_kernel(w->addr))
			work_on_start(w, watch_rip, NULL);
		if (site)
			work_on_start(w, addr_is_kernel(w->addr) ? watch_arrive : watch_arrive_user, userdata(site, 0));
	}
	if (w->watches == WATCH_EVENTS && (number = arguments_at(w->addr)))
		work_on_start(w, watch_args, (void *)(uintptr_t)(number - 1));
	if (w->watches == WATCH_EVENTS && trace_events_at_entry(w->addr))
		work_on_start(w, trace_events_at_entry(w->addr), NULL);
	if (hook && hook->watch && (hook->watch != watch_fact || w->watches == WATCH_EVENTS))
		work_on_start(w, hook->watch, (void *)(uintptr_t)hook);
	if (result && *result && w->watches == WATCH_EVENTS)
		work_on_start(w, watch_result, (void *)(uintptr_t)&hooks[*result - 1]);
}

/* A function that begins within the block was run into by the one before it. */
static void run_into(struct work *w, uint64_t addr)
{
	uint32_t site;

	if (!kernel_function_start(&recorder.kernel, w->function, addr))
		return;
	if (waiting_for_entry(addr))
		work_on_exec(w, watch_ran_into, NULL);
	site = work_site(w, EVENT_ARRIVE, addr, 0, 0);
	if (site && !addr_is_kernel(w->addr))
		work_on_start(w, watch_rip, NULL);
	if (site)
		work_on_exec(w, addr_is_kernel(addr) ? watch_arrive : watch_arrive_user, userdata(site, w->n - w->at));
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
		w->block->vector = (int16_t)recorder.cpu->handler(w);
	return w->block;
}

/* A jump label that stands for a trace event: there it is made. */
static void look_for_event(struct work *w, uint64_t addr)
{
	uint32_t number = w->watches == WATCH_EVENTS ? trace_events_at(addr) : 0;

	if (number)
		work_on_exec_regs(w, watch_event_label, userdata(number - 1, w->n - w->at));
}

static void look_in_program(struct work *w, uint64_t addr)
{
	for (uint32_t number = 0; (number = probes_in_program(addr, number));) {
		work_on_start(w, watch_rip, NULL);
		work_on_exec_regs(w, probe_returns(number) ? watch_program_enters : watch_program_probe,
			     userdata(number, (w->n - w->at) | (addr - w->addr) << WATCH_PROBE_OFFSET));
	}
}

static void look_for_probe(struct work *w, uint64_t addr)
{
	uint32_t number = w->watches == WATCH_EVENTS ? probes_at(addr) : 0;

	if (w->watches == WATCH_EVENTS && probes_watch_programs() && !addr_is_kernel(addr))
		look_in_program(w, addr);

	if (w->watches == WATCH_EVENTS && probes_want_entry(addr))
		work_on_exec_regs(w, watch_probe_entry, (void *)(uintptr_t)addr);
	if (number)
		work_on_exec_regs(w, watch_probe, userdata(number, w->n - w->at));
}

/* Instruction by instruction. Returns what may come behind the last one. */
static struct insn_flow instrument_all(struct work *w)
{
	uint64_t addr = w->addr;
	struct insn_flow flow = { 0 };

	for (size_t i = 0; i < w->n; i++) {
		look_at(w, i);
		flow = recorder.cpu->watch_state(w, addr, w->lengths[i]);
		if (w->watches != WATCH_STATE) {
			w->function = kernel_function_near(&recorder.kernel, w->function, addr);
			if (i && w->function != SYMTAB_NONE)
				run_into(w, addr);
			recorder.cpu->watch_transfer(w, addr);
			look_for_event(w, addr);
			look_for_probe(w, addr);
		}
		addr += w->lengths[i];
	}
	if (w->watches == WATCH_STATE)
		return flow;
	w->function = kernel_function_near(&recorder.kernel, w->function, addr);
	if (flow.leads_on)
		translate_leads_to(addr);
	if (flow.runs_on && kernel_function_start(&recorder.kernel, w->function, addr))
		translate_expect_arrival(addr);
	return flow;
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
	return !recorder.told_interrupts && recorder.cpu->handler(w) >= 0;
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

/* Where all is recorded, the jump there tells (ring/drain.c). */
static void look_for_decompressor(const struct work *w)
{
	if (w->addr == recorder.cpu->loader && w->watches != WATCH_EVENTS && !kernel_found(&recorder.kernel) &&
	    pthread_equal(pthread_self(), recorder.boot_thread))
		drain_decompressor(vcpu_get(recorder.boot_vcpu)->live->insns, watch_clock(recorder.boot_vcpu));
}

static void translate(struct work *w)
{
	const struct hook *hook;
	struct insn_flow last = { 0 };
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
		single = w->n == 1 && last.may_be_alone;
		if (single)
			work_on_address(w, watch_single, QEMU_PLUGIN_MEM_RW, userdata(w->block->number, 0));
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
		waiting_look(vcpu_get(recorder.boot_vcpu));
}
