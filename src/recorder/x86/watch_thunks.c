/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where thunks that stand for indirect calls and jumps leave: thunks.h. */
#include "recorder/watch/watch_put.h"
#include "watch_x86.h"

/* Control leaves a thunk for what was meant. `number`: the site of what called or jumped to it. */
static void put_leaving(struct vcpu *v, uint64_t number, uint64_t slot, uint64_t target)
{
	const struct site *site = site_at((uint32_t)number);

	v->live->thunk = 0;
	if (site->kind == EVENT_CALL_INDIRECT)
		PUT(v, number, v->live->insns, slot, site->addr + site->length, target);
	else if (!watch_stays_within(site, target))
		PUT(v, number, v->live->insns, target);
}

/* What was taken away where something cut in at that stack pointer; 0: nothing. */
static uint64_t take_cut(uint64_t sp)
{
	uint64_t *site, found = 0;

	pthread_mutex_lock(&recorder.lock);
	site = map_get(&recorder.tables.thunks.cut, sp);
	if (site && *site) {
		found = *site;
		*site = 0;
		recorder.tables.thunks.n_cut--;
	}
	pthread_mutex_unlock(&recorder.lock);
	return found;
}

void watch_thunk_cut(struct vcpu *v, uint64_t from, uint64_t sp)
{
	uint64_t *site;

	pthread_mutex_lock(&recorder.lock);
	/* else the call of the thunk itself failed, and will be made again */
	if (thunks_kind(&recorder.tables.thunks, from) != X86_NO_THUNK) {
		site = map_put(&recorder.tables.thunks.cut, sp, 0);
		recorder.tables.thunks.n_cut += !*site;
		*site = v->live->thunk;
	}
	pthread_mutex_unlock(&recorder.lock);
	v->live->thunk = 0;
}

/*
 * Behind something that cut in before the thunk's own call, or behind that. What cuts in uses the stack below, so no
 * other return reads its address there meanwhile.
 */
static __attribute__((noinline)) void return_after_cut(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr,
						       void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	uint64_t site = take_cut(vaddr);

	if (!site)
		site = take_cut(vaddr + 8);
	if (site)
		put_leaving(v, site, vaddr + 8, value_64(v, info));
	else
		watch_return_long(cpu, info, vaddr, data);
}

void watch_thunk_return(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	uint64_t site = v->live->thunk;

	if (site)
		put_leaving(v, site, vaddr + 8, value_64(v, info));
	else if (__builtin_expect(recorder.tables.thunks.n_cut, 0))
		return_after_cut(cpu, info, vaddr, data);
	else
		watch_return_long(cpu, info, vaddr, data);
}

bool watch_thunk_leaves(struct vcpu *v, uint64_t target)
{
	uint64_t site = v->live->thunk, sp = registers_read(&v->regs, GUEST_RSP);

	if (!site)
		site = take_cut(sp);
	if (site)
		put_leaving(v, site, sp, target);
	return site;
}

void watch_thunk_arrival(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);

	if (v->live->thunk)
		return;
	v->live->thunk = take_cut(registers_read(&v->regs, GUEST_RSP));
	if (!v->live->thunk)
		v->live->thunk = site_of(data);
}
