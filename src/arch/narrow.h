/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Addresses of a kernel of 32 bits. It has those from its PAGE_OFFSET on, and programs have what is below. In traces,
 * and in everything that upto asks about addresses, they are sign-extended: then bit 63 tells the kernel's, as with 64
 * bits.
 *
 *   the CPU has      0xc1000000 … 0xffbfffff
 *   the trace has    0xffffffffc1000000 …
 */
#ifndef UPTO_ARCH_NARROW_H
#define UPTO_ARCH_NARROW_H

#include <stdbool.h>
#include <stdint.h>

/* What the upper half of an address is that was extended. */
#define NARROW_HIGH 0xffffffff00000000u

/*
 * The last 4 MiB: firmware has its code there, from which a reset begins, and Linux its fixmap, which has neither code
 * nor stacks.
 */
enum { NARROW_END = 0xffc00000u, NARROW_LOWEST = 0x40000000 /* the least PAGE_OFFSET: CONFIG_VMSPLIT_1G */ };

/* The kernel's addresses; a size of 0: the kernel that runs has 64 bits, or is not known yet. */
struct narrow {
	uint64_t start, size;
};

/* PAGE_OFFSET is `start`. */
static inline struct narrow narrow_from(uint64_t start)
{
	start = (uint32_t)start;
	return (struct narrow){ .start = start, .size = start < NARROW_END ? NARROW_END - start : 0 };
}

/* An address of the CPU's, or one that was extended already, as the trace has it. */
static inline uint64_t narrow_extend(const struct narrow *n, uint64_t addr)
{
	return __builtin_expect(addr - n->start < n->size, 0) ? addr | NARROW_HIGH : addr;
}

/*
 * The PAGE_OFFSET of a kernel that has code at that address, by what can be configured: CONFIG_VMSPLIT_*,
 * arch/x86/Kconfig. 0: no kernel would be there.
 */
static inline uint64_t narrow_page_offset(uint64_t addr)
{
	static const uint32_t offsets[] = { 0xc0000000u, 0xb0000000u, 0x80000000u, 0x78000000u, 0x40000000u };

	for (unsigned i = 0; i < sizeof offsets / sizeof *offsets; i++)
		if ((uint32_t)addr >= offsets[i])
			return offsets[i];
	return 0;
}

#endif
