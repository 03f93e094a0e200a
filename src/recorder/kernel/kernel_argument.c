/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel_argument.h"

uint64_t kernel_argument(struct registers *regs, unsigned i)
{
	uint32_t word = 0;

	if (!guest_is_narrow())
		return i < WIDE_ARGUMENTS ? registers_read(regs, wide_arguments[i]) : 0;
	if (i < NARROW_ARGUMENTS)
		return guest_pointer(regs, narrow_arguments[i]);
	guest_read(regs, guest_pointer(regs, REG_SP) + (1 + i - NARROW_ARGUMENTS) * sizeof word, &word, sizeof word);
	return guest_address(word);
}
