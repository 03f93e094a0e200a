/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads guest registers and memory by QEMU's plugin interface. That needs 13 ns for a
 * register, and user code needs one for each jump. So the place where QEMU keeps the
 * instruction pointer is learnt as in qemu_inside.h; the general registers are before it.
 */
#ifndef UPTO_RECORDER_REGISTERS_H
#define UPTO_RECORDER_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "qemu_inside.h"
#include "qemu_interface.h"
#include "recorder/x86/cpu_registers.h"

struct registers {
	struct qemu_plugin_register *handles[REGS];
	GByteArray *bytes;
	const uint64_t *direct; /* those before REGS_DIRECT can be read here; NULL: ask QEMU */
	const uint64_t *place;  /* the same, once learnt; compared with QEMU's answers every few blocks of the ring */
};

/* Called in the vCPU's thread. Returns false if QEMU does not have the registers that are needed. */
bool registers_init(struct registers *r);

/*
 * Read the instruction pointer, and learn where QEMU keeps it. Called in a callback of this vCPU that may read
 * registers.
 */
uint64_t registers_rip(struct registers *r, struct value_place *place);

/* Ask QEMU for a register; 0: it does not tell. Called in a callback of this vCPU that may read registers. */
uint64_t registers_ask(struct registers *r, enum reg reg);

/* Likewise, or read it where QEMU keeps it. */
static inline uint64_t registers_read(struct registers *r, enum reg reg)
{
	return __builtin_expect(r->direct && reg < REGS_DIRECT, 1) ? r->direct[reg] : registers_ask(r, reg);
}

/* Copy guest memory of the running address space. Returns false if some of it is not mapped. */
bool guest_read(struct registers *r, uint64_t addr, void *data, size_t n);

#endif
