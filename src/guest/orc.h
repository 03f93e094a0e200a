/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwinding of a kernel's stack by its ORC tables: arch/x86/include/asm/orc_types.h, arch/x86/kernel/unwind_orc.c. Both
 * tables and stacks are guest memory; what they say may be wrong.
 */
#ifndef UPTO_GUEST_ORC_H
#define UPTO_GUEST_ORC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct orc {
	struct buf ips;     /* 4 bytes each: where the entry's code begins, from its own address on; sorted */
	struct buf entries; /* 6 bytes each */
	uint64_t ips_at;    /* address of the first */
	bool old;           /* of a kernel before 6.4, whose kinds have other numbers */
};

struct orc_memory {
	bool (*read)(void *state, uint64_t addr, void *data, size_t n);
	void *state;
};

struct orc_registers {
	uint64_t ip, sp, bp;
	bool cut; /* `ip` was interrupted before it ran; else it lies behind a call */
};

enum orc_step {
	ORC_CALL,    /* the registers are those of the caller, behind its call */
	ORC_USER,    /* of the program from which the kernel was entered */
	ORC_KERNEL,  /* of the kernel's code that was interrupted */
	ORC_END,     /* there is no caller */
	ORC_UNKNOWN, /* it cannot be told: registers are as they were */
};

/*
 * From where `regs` are to who called that, or what it cut into. *ret_slot: where on the stack the address is that it
 * returns to, of ORC_CALL, ORC_USER and ORC_KERNEL.
 */
enum orc_step orc_step(const struct orc *o, const struct orc_memory *m, struct orc_registers *regs, uint64_t *ret_slot);

void orc_deinit(struct orc *o);

#endif
