/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The symbol table that a kernel carries in its own .rodata
 * (scripts/kallsyms.c writes it, kernel/kallsyms.c reads it).
 *
 * Nothing points to it from outside, so it is found by its shape. In both
 * orders that kernels have had since 4.20 the middle is the same:
 *
 *   num_syms   u32
 *   names      num_syms × (length: 1 byte, or 2 with bit 7 set; tokens)
 *   markers    u32 offset into names of every 256th symbol
 *   token_table  256 strings, each ended by NUL
 *   token_index  256 × u16 offset into token_table
 *
 * with the addresses (s32 offsets[num_syms], u64 relative_base) before it up
 * to 6.3 and after it since. Every part is 8-byte aligned.
 */
#ifndef UPTO_GUEST_KALLSYMS_H
#define UPTO_GUEST_KALLSYMS_H

#include "base/error.h"
#include "symbol_list.h"

/* Find and read it in bytes of an image or of memory. Addresses come out as stored there. */
int kallsyms_read(const void *data, size_t len, struct symbol_list *ret, struct error *err);

#endif
