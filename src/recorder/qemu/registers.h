/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads guest registers and memory by QEMU's plugin interface. That needs 13 ns for a
 * register, and user code needs one for each jump. So the place where QEMU keeps rip
 * is learnt as in qemu_inside.h; the general registers are before it.
 */
#ifndef UPTO_RECORDER_REGISTERS_H
#define UPTO_RECORDER_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "qemu_inside.h"
#include "qemu_interface.h"

enum reg {
	/* as instructions number them */
	GUEST_RAX, GUEST_RCX, GUEST_RDX, GUEST_RBX, GUEST_RSP, GUEST_RBP, GUEST_RSI, GUEST_RDI,
	GUEST_R8, GUEST_R9, GUEST_R10, GUEST_R11, GUEST_R12, GUEST_R13, GUEST_R14, GUEST_R15,
	GUEST_RIP, GUEST_CS, GUEST_SS, GUEST_CR0, GUEST_EFER, GUEST_GS_BASE,
	/* in the middle of a block only what no arithmetic changes */
	GUEST_EFLAGS,
	REGS,
};

struct registers {
	struct qemu_plugin_register *handles[REGS];
	GByteArray *bytes;
	const uint64_t *direct; /* rax … rip can be read here; NULL: ask QEMU */
	const uint64_t *place;  /* the same, once learnt; compared with QEMU's answers every few blocks of the ring */
};

/* Called in the vCPU's thread. Returns false if QEMU does not have the registers that are needed. */
bool registers_init(struct registers *r);

/* Read rip, and learn where QEMU keeps it. Called in a callback of this vCPU that may read registers. */
uint64_t registers_rip(struct registers *r, struct value_place *place);

/* Read a register; 0: QEMU does not tell. Called in a callback of this vCPU that may read registers. */
uint64_t registers_read(struct registers *r, enum reg reg);

/* Does the vCPU use page tables, and no 64-bit mode? So does the code of a kernel of 32 bits, but no firmware's. */
bool registers_paged_32(struct registers *r);

/* Copy guest memory of the running address space. Returns false if some of it is not mapped. */
bool guest_read(struct registers *r, uint64_t addr, void *data, size_t n);

#endif
