/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tells kernel addresses from user addresses. It is asked for each event, so it is inline, and not behind arch.h's
 * struct.
 */
#ifndef UPTO_ARCH_ADDRESS_H
#define UPTO_ARCH_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

/* The kernel has the upper half of the address space, on x86-64 and also on aarch64 and riscv64. */
static inline bool addr_is_kernel(uint64_t addr)
{
	return addr >> 63;
}

#endif
