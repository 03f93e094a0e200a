/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How wide the words of the kernel that runs are. Addresses of one of 32 bits are extended wherever they come from
 * (arch/narrow.h): what the CPU pushes, loads or jumps to goes through guest_address().
 */
#ifndef UPTO_RECORDER_GUEST_ADDRESS_H
#define UPTO_RECORDER_GUEST_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/narrow.h"

/* The addresses of a kernel of 32 bits. Set when it is found, while only one vCPU runs. */
extern struct narrow guest_narrow;

static inline bool guest_is_narrow(void)
{
	return guest_narrow.size;
}

/* The CPU's address, as the trace has it. */
static inline uint64_t guest_address(uint64_t addr)
{
	return narrow_extend(&guest_narrow, addr);
}

/* The trace's address, as the CPU has it. */
static inline uint64_t guest_linear(uint64_t addr)
{
	return guest_is_narrow() ? (uint32_t)addr : addr;
}

/* Bytes of a pointer, a long, or what a call pushes. */
static inline unsigned guest_word(void)
{
	return guest_is_narrow() ? 4 : 8;
}

#endif
