/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "entry_call.h"

#include "arch/x86_insn.h"
#include "recorder/kernel/kernel_argument.h"
#include "recorder/watch/watch_put.h"

enum { CALL_MAX = 7 }; /* bytes of a near call without prefixes that matter */

static bool function_begins(uint64_t addr)
{
	struct kernel *k = &recorder.kernel;

	return addr_is_kernel(addr) && kernel_has_code(k, addr) && !kernel_is_inside(k, addr, addr);
}

/*
 * The bytes before a return address: which call do they end with? A call of another function may have led here by a
 * jump. Displacements that lead to no function's begin are other bytes, if there is another call that they may be.
 */
static bool decode(const uint8_t bytes[CALL_MAX], uint64_t from, struct site *ret)
{
	static const uint8_t lengths[] = { 5, 2, 3, 6, 7, 4, 5 };

	for (size_t i = 0; i < sizeof lengths; i++) {
		uint8_t n = lengths[i];
		struct x86_insn x = x86_decode(bytes + CALL_MAX - n, n);
		uint64_t target = guest_address(guest_linear(from + (uint64_t)(int64_t)x.disp));

		*ret = (struct site){ .kind = EVENT_CALL_INDIRECT, .addr = from - n, .length = n };
		if (x.kind == X86_CALL_REG || x.kind == X86_CALL_MEM)
			return true;
		*ret = (struct site){ .kind = EVENT_CALL, .addr = from - n, .length = n, .target = target };
		if (x.kind == X86_CALL && (i ? addr_is_kernel(target) : function_begins(target)))
			return true;
	}
	return false;
}

void entry_call_find(struct vcpu *v, struct entry_call *ret)
{
	uint8_t bytes[CALL_MAX];

	*ret = (struct entry_call){ .slot = guest_pointer(&v->regs, GUEST_RSP) };
	ret->known = guest_read(&v->regs, ret->slot, &ret->from, guest_word());
	ret->from = guest_address(ret->from);
	ret->known = ret->known && addr_is_kernel(ret->from) && kernel_has_code(&recorder.kernel, ret->from) &&
		     guest_read(&v->regs, ret->from - CALL_MAX, bytes, CALL_MAX) &&
		     decode(bytes, ret->from, &ret->site);
}

static uint32_t number_of(const struct site *site)
{
	uint32_t number;

	pthread_mutex_lock(&recorder.lock);
	number = translate_site(site);
	pthread_mutex_unlock(&recorder.lock);
	return number;
}

void entry_call_put(struct vcpu *v, uint64_t function, const struct entry_call *call, bool arrival_told)
{
	uint32_t site = call->known ? number_of(&call->site) : 0;
	uint32_t there = arrival_told ? 0 : number_of(&(struct site){ .kind = EVENT_ARRIVE, .addr = function });

	if (site && call->site.kind == EVENT_CALL)
		PUT(v, site, v->live->insns, call->slot);
	else if (site)
		PUT(v, site, v->live->insns, call->slot, call->from, function);
	if (there && (!site || (call->site.kind == EVENT_CALL && call->site.target != function)))
		put_arrival(v, there, v->live->insns, function);
}
