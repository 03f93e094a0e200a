/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Raw records: what a vCPU writes at run time, as few words as will do.
 *
 *   word 0   site number << 40 | low 40 bits of the instruction counter
 *   CALL             slot, and unless the site is in the kernel: return address
 *   CALL_INDIRECT    slot, return address, target
 *   RETURN           slot, target
 *   JUMP             unless the site is in the kernel: its true address
 *   JUMP_INDIRECT    unless the site is in the kernel: its true address; target
 *   ARRIVE           where it is, at run time (user code)
 *   INTERRUPT_RETURN slot, target, code segment, rax
 *   INTERRUPT        slot, interrupted address, target, ns, vector, error code, code segment
 *   SYSCALL          target, ns, address that it returns to, number, six arguments, interface
 *   SYSCALL_RETURN   target, ns, result
 *   HALT, RESUME, CLOCK  ns
 *   TASK_SWITCH      ns, previous, next
 *   ADDRESS_SPACE    page tables
 *   GAP              ns, place, number: of waiting.h
 *   NONE             - : nothing of this vCPU counts from here on
 */
#ifndef UPTO_RECORDER_RAW_H
#define UPTO_RECORDER_RAW_H

#include <stdbool.h>

#include "arch/address.h"
#include "trace/sites.h"

enum { RAW_INSNS_BITS = 40 };

static inline uint64_t raw_word0(uint64_t site, uint64_t insns)
{
	return site << RAW_INSNS_BITS | (insns & ((UINT64_C(1) << RAW_INSNS_BITS) - 1));
}

/* Words of a record of that site, word 0 included. */
static inline unsigned raw_words(const struct site *site)
{
	static const uint8_t words[EVENT_KINDS] = {
		[EVENT_NONE] = 1, [EVENT_CALL] = 3, [EVENT_CALL_INDIRECT] = 4, [EVENT_RETURN] = 3,
		[EVENT_JUMP] = 2, [EVENT_JUMP_INDIRECT] = 3, [EVENT_ARRIVE] = 2,
		[EVENT_INTERRUPT_RETURN] = 5, [EVENT_INTERRUPT] = 8, [EVENT_SYSCALL] = 12,
		[EVENT_SYSCALL_RETURN] = 4, [EVENT_HALT] = 2, [EVENT_RESUME] = 2,
		[EVENT_TASK_SWITCH] = 4, [EVENT_ADDRESS_SPACE] = 2, [EVENT_CLOCK] = 2, [EVENT_GAP] = 4,
	};
	bool fixed = addr_is_kernel(site->addr) && (site->kind == EVENT_CALL || site->kind == EVENT_JUMP ||
					  site->kind == EVENT_JUMP_INDIRECT || site->kind == EVENT_ARRIVE);

	return words[site->kind] - fixed;
}

#endif
