/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions that a program or library offers to others, out of a process's
 * memory as its linker left it: for files that cannot be had. What the process
 * did not touch may not be there; functions that it cannot tell of are left out.
 */
#ifndef UPTO_SYMBOLS_ELF_LOADED_H
#define UPTO_SYMBOLS_ELF_LOADED_H

#include "symtab.h"

/* Copy memory of the process. False: some of it is not there. */
typedef bool (*memory_reader)(void *state, uint64_t addr, void *data, size_t n);

/*
 * `base` is where the file's first byte is mapped. Addresses are offsets in the
 * file; names are the linker's. False: there is none, or it offers nothing. The
 * caller owns *ret.
 */
bool elf_loaded_symbols(uint64_t base, memory_reader read, void *state, struct symtab *ret);

#endif
