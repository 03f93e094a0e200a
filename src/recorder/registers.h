/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guest registers and memory by QEMU's plugin API. It takes 13 ns for a
 * register, and user code needs one for each jump: where QEMU keeps rip is
 * learnt as in value.h, and the general registers stand before it.
 */
#ifndef UPTO_RECORDER_REGISTERS_H
#define UPTO_RECORDER_REGISTERS_H

#include <glib.h>
#include <qemu-plugin.h>
#include <stdbool.h>
#include <stdint.h>

#include "value.h"

enum reg {
	GUEST_RAX, GUEST_RCX, GUEST_RDX, GUEST_RBX, GUEST_RSP, GUEST_RBP, GUEST_RSI, GUEST_RDI, /* as instructions number them */
	GUEST_R8, GUEST_R9, GUEST_R10, GUEST_R11, GUEST_R12, GUEST_R13, GUEST_R14, GUEST_R15,
	GUEST_RIP, GUEST_CS, GUEST_SS,
	REGS,
};

struct registers {
	struct qemu_plugin_register *handles[REGS];
	GByteArray *bytes;
	const uint64_t *direct; /* rax … rip can be read here; NULL: ask QEMU */
	const uint64_t *place;  /* the same, once learnt; held against QEMU's answers every few blocks of the ring */
};

/* In the vCPU's thread. False when QEMU does not offer what is needed. */
bool registers_init(struct registers *r);

/* In a callback of this vCPU that was registered as reading registers: rip, and learn where it stands. */
uint64_t registers_rip(struct registers *r, struct value_place *place);

/* In a callback of this vCPU that was registered as reading registers. */
uint64_t registers_read(struct registers *r, enum reg reg);

/* Copy guest memory of the address space that runs. False: not mapped. */
bool guest_read(struct registers *r, uint64_t addr, void *data, size_t n);

#endif
