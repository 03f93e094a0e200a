/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A block under translation, and how to have watched what it does. Shared by translate.c, which knows what blocks of
 * any CPU have in common, and by what decodes a CPU's instructions (recorder/cpu.h). All is called under the
 * recorder's `lock`.
 */
#ifndef UPTO_RECORDER_TRANSLATE_H
#define UPTO_RECORDER_TRANSLATE_H

#include "recorder/spans/waiting.h"
#include "watch.h"

enum { BLOCK_MAX = 512 }; /* instructions: QEMU's own limit */

/* Why a place in recorder.arrivals is watched, as bits. */
enum { ARRIVE = 1, RESUME = 2, AFTER_OUT = 4 };

struct work {
	struct qemu_plugin_tb *tb;
	uint64_t addr, end;
	size_t n;
	uint8_t lengths[BLOCK_MAX];
	bool wanted[BLOCK_MAX]; /* instructions at which a callback asks what they load or store */
	struct qemu_plugin_insn *insn; /* the one that is looked at … */
	size_t at;                     /* … its index … */
	struct cpu_insn decoded;       /* … and what it is, once watch_state() has looked at it */
	struct block *block;    /* NULL: what waits keeps none */
	enum watching watches;
	long function; /* the kernel's, at the instruction that is looked at; or SYMTAB_NONE */
};

/* Userdata of a callback: a site, or what the callback's line in watch.h tells, and what stands above it. */
static inline void *userdata(uint64_t low, uint64_t high)
{
	return (void *)(uintptr_t)(low | high << WATCH_ABOVE);
}

/* The number of a transfer's site, for an event that is recorded only within spans. 0: outside, or no room is left. */
uint32_t work_site(struct work *w, enum event_kind kind, uint64_t addr, uint8_t length, uint64_t target);

/* A callback at the instruction's memory accesses, that asks for their address only; … */
void work_on_address(struct work *w, qemu_plugin_vcpu_mem_cb_t cb, enum qemu_plugin_mem_rw rw, void *data);
/* … that asks what was loaded or stored, too: QEMU has to keep it. */
void work_on_mem(struct work *w, qemu_plugin_vcpu_mem_cb_t cb, enum qemu_plugin_mem_rw rw, void *data);
/* A callback before the instruction; _regs: one that reads registers. */
void work_on_exec(struct work *w, qemu_plugin_vcpu_udata_cb_t cb, void *data);
void work_on_exec_regs(struct work *w, qemu_plugin_vcpu_udata_cb_t cb, void *data);
/* A callback before the block. */
void work_on_start(struct work *w, qemu_plugin_vcpu_udata_cb_t cb, void *data);

/*
 * A call in the kernel, with 0 for a target that is not known: where it will return to, a block begins. Is the result
 * to be told?
 */
void work_expect_result(const struct work *w, uint64_t target, uint64_t returns_to);
/*
 * A chosen function returns here: at a return, or at a jump to a return thunk; or others do that were left for this
 * one.
 */
void work_gives_back(struct work *w);
/* A chosen function may go on by that jump to another one, which then returns for it. `target`: 0: not known. */
void work_gives_away(struct work *w, uint64_t target);
/* Does a direct jump there leave the function that it stands in? Without symbols it is concluded from the places. */
bool work_leaves_function(const struct work *w, uint64_t addr, uint64_t target);

/* Code leads to that place by itself: what begins there need not be an interrupt's handler. */
void translate_leads_to(uint64_t addr);
/* Watch a place that another function leads to without a transfer that can be watched itself. */
void translate_expect_arrival(uint64_t addr);

#endif
