/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the functions that a program or library offers to others (.dynsym) from
 * the memory of a process: for files that the host does not have. Pages that the
 * process did not touch may be missing; functions whose names or addresses are on
 * such pages are left out.
 */
#ifndef UPTO_SYMBOLS_ELF_LOADED_H
#define UPTO_SYMBOLS_ELF_LOADED_H

#include "symtab.h"

/* Copy memory of the process. Returns false if some of it is not there. */
typedef bool (*memory_reader)(void *state, uint64_t addr, void *data, size_t n);

/*
 * `base` is the address that the file's first byte is mapped at. Addresses in *ret
 * are offsets in the file; names are the linker's. Returns false if no ELF file is
 * there or if it offers nothing. The caller owns *ret.
 */
bool elf_loaded_symbols(uint64_t base, memory_reader read, void *state, struct symtab *ret);

#endif
