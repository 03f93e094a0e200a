/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where thunks that stand for indirect calls and jumps leave: thunks.h. */
#include "watch_put.h"

uint64_t watch_thunk_word(uint32_t site, uint64_t from)
{
	return from ? site | WATCH_THUNK_CALL | from << 32 : site;
}

/* The return address of the call that the word is of. The kernel's code has the highest 2 GiB, so half of an address tells which it is. */
static uint64_t return_address(uint64_t word)
{
	return (uint64_t)(int64_t)(int32_t)(word >> 32);
}

/* Control leaves a thunk for what was meant. */
static void put_leaving(struct vcpu *v, uint64_t word, uint64_t slot, uint64_t target)
{
	uint32_t number = word & ((1u << WATCH_SITE_BITS) - 1);

	v->live->thunk = 0;
	if (word & WATCH_THUNK_CALL)
		PUT(v, number, v->live->insns, slot, return_address(word), target);
	else if (!watch_stays_within(site_at(number), target))
		PUT(v, number, v->live->insns, target);
}

/* What was taken away where something cut in at that stack pointer; 0: nothing. */
static uint64_t take_cut(uint64_t sp)
{
	uint64_t *word, found = 0;

	pthread_mutex_lock(&recorder.lock);
	word = map_get(&recorder.thunks.cut, sp);
	if (word && *word) {
		found = *word;
		*word = 0;
		recorder.thunks.n_cut--;
	}
	pthread_mutex_unlock(&recorder.lock);
	return found;
}

void watch_thunk_cut(struct vcpu *v, uint64_t from, uint64_t sp)
{
	uint64_t *word;

	pthread_mutex_lock(&recorder.lock);
	/* else the call of the thunk itself failed, and will be made again */
	if (thunks_kind(&recorder.thunks, from) != X86_NO_THUNK) {
		word = map_put(&recorder.thunks.cut, sp, 0);
		recorder.thunks.n_cut += !*word;
		*word = v->live->thunk;
	}
	pthread_mutex_unlock(&recorder.lock);
	v->live->thunk = 0;
}

/*
 * Behind something that cut in before the thunk's own call, or behind that. What cuts in uses the stack below, so no other return reads its
 * address there meanwhile.
 */
static __attribute__((noinline)) void return_after_cut(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	uint64_t word = take_cut(vaddr);

	if (!word)
		word = take_cut(vaddr + 8);
	if (word)
		put_leaving(v, word, vaddr + 8, value_64(v, info));
	else
		watch_return_long(cpu, info, vaddr, data);
}

void watch_thunk_return(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	uint64_t word = v->live->thunk;

	if (word)
		put_leaving(v, word, vaddr + 8, value_64(v, info));
	else if (__builtin_expect(recorder.thunks.n_cut, 0))
		return_after_cut(cpu, info, vaddr, data);
	else
		watch_return_long(cpu, info, vaddr, data);
}

bool watch_thunk_leaves(struct vcpu *v, uint64_t target)
{
	uint64_t word = v->live->thunk, sp = registers_read(&v->regs, GUEST_RSP);

	if (!word)
		word = take_cut(sp);
	if (word)
		put_leaving(v, word, sp, target);
	return word;
}

void watch_thunk_arrival(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);

	if (v->live->thunk)
		return;
	v->live->thunk = take_cut(registers_read(&v->regs, GUEST_RSP));
	if (!v->live->thunk)
		v->live->thunk = watch_thunk_word(site_of(data), 0);
}
