/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the symbol table that a kernel carries in its own .rodata
 * (scripts/kallsyms.c writes it, kernel/kallsyms.c reads it).
 *
 * Nothing outside points to the table, so it is found by its shape. Kernels since
 * 4.20 had two orders of its parts, whose middle is the same:
 *
 *   num_syms   u32
 *   names      num_syms × (length: 1 byte, or 2 with bit 7 set; tokens)
 *   markers    u32 offset into names of every 256th symbol
 *   token_table  256 strings, each ended by NUL
 *   token_index  256 × u16 offset into token_table
 *
 * The addresses stand before it up to 6.3 and after it since. Every part is
 * aligned to 8 bytes, since 7.1 to 4 bytes. There are four ways to store the
 * addresses:
 *
 *   s32 offsets[num_syms], u64 relative_base
 *     x86-64 up to 6.14: per-CPU symbols are offsets from 0; all others are
 *     negative and stand for base - 1 - offset
 *     since 6.15: u32 offsets from the base
 *   u32 offsets[num_syms], u32 relative_base
 *     kernels of 32 bits; every part is aligned to 4 bytes
 *   s32 offsets[num_syms]
 *     since 7.1: each is an offset from its own place in memory
 */
#ifndef UPTO_GUEST_KALLSYMS_H
#define UPTO_GUEST_KALLSYMS_H

#include <stdbool.h>

#include "base/error.h"
#include "symbol_list.h"

/*
 * Find and read the table in the bytes of an image or of memory. `addr` is the
 * virtual address of data[0]. Symbols keep the addresses that the table has, those
 * of a kernel of 32 bits extended (arch/narrow.h). The caller frees *ret.
 */
int kallsyms_read(const void *data, size_t len, uint64_t addr, bool narrow, struct symbol_list *ret, struct error *err);

#endif
