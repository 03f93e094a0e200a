/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel_width.h"

struct narrow guest_narrow;

/* The System V ABI for x86-64, 3.2.3. */
static const enum reg wide_arguments[] = { GUEST_RDI, GUEST_RSI, GUEST_RDX, GUEST_RCX, GUEST_R8, GUEST_R9 };
/* -mregparm=3 (arch/x86/Makefile); the others are on the stack, behind the return address. */
static const enum reg narrow_arguments[] = { GUEST_RAX, GUEST_RDX, GUEST_RCX };

enum {
	WIDE = sizeof wide_arguments / sizeof *wide_arguments,
	NARROW = sizeof narrow_arguments / sizeof *narrow_arguments
};

uint64_t kernel_argument(struct registers *regs, unsigned i)
{
	uint32_t word = 0;

	if (!guest_is_narrow())
		return i < WIDE ? registers_read(regs, wide_arguments[i]) : 0;
	if (i < NARROW)
		return guest_pointer(regs, narrow_arguments[i]);
	guest_read(regs, guest_pointer(regs, GUEST_RSP) + (1 + i - NARROW) * sizeof word, &word, sizeof word);
	return guest_address(word);
}
