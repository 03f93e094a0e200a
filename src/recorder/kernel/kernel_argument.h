/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which registers a function of the kernel has its arguments in: other ones in a kernel of 32 bits. */
#ifndef UPTO_RECORDER_KERNEL_ARGUMENT_H
#define UPTO_RECORDER_KERNEL_ARGUMENT_H

#include "guest_address.h"
#include "recorder/qemu/registers.h"

/*
 * Word number `i` of the arguments of a function of the kernel, from 0 on, at its first instruction: a pointer is an
 * address.
 */
uint64_t kernel_argument(struct registers *regs, unsigned i);

/* A register that has an address. */
static inline uint64_t guest_pointer(struct registers *regs, enum reg reg)
{
	return guest_address(guest_linear(registers_read(regs, reg)));
}

#endif
