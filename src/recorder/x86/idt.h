/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps the interrupt descriptor tables that the guest has loaded. Interrupts and
 * exceptions show only by where control arrives. So each new block is looked up
 * here: is it the entry of a handler, and for which vector?
 */
#ifndef UPTO_RECORDER_IDT_H
#define UPTO_RECORDER_IDT_H

#include <stdint.h>

#include "base/map.h"
#include "recorder/qemu/registers.h"

enum idt_kind { IDT_REAL, IDT_32, IDT_64 }; /* entries of 4, 8, 16 bytes */

struct idt {
	uint64_t base;
	uint32_t limit;
	enum idt_kind kind;
};

enum { IDTS_MAX = 16 };

struct idts {
	struct idt tables[IDTS_MAX];
	unsigned count, oldest;
	struct map handlers; /* address → where its vector was found last: table << 8 | vector */
};

/* The table that the CPU has at reset. */
void idts_init(struct idts *t);
void idts_add(struct idts *t, const struct idt *idt);

/*
 * The first vector whose handler begins at that linear address, or -1. Reads
 * guest memory. *ret_kind is the form of the frame that was pushed.
 */
int idts_vector_of(struct idts *t, struct registers *regs, uint64_t addr, enum idt_kind *ret_kind);

/* The same for an address that is known to be a handler. Looks first where it was found last. */
int idts_handler(struct idts *t, struct registers *regs, uint64_t addr, enum idt_kind *ret_kind);

#endif
