/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the functions of a program or library from its file. */
#ifndef UPTO_SYMBOLS_ELF_SYMBOLS_H
#define UPTO_SYMBOLS_ELF_SYMBOLS_H

#include "symtab.h"

/*
 * Read the functions in .symtab, or in .dynsym if there is no .symtab. `symbols` is
 * the file whose .symtab is read: the debug file, or the file itself. Addresses are
 * offsets in the file; C++ and Rust names are as in the source. If the table has no
 * size for a function, the function reaches to the next one or to the end of its
 * section. Bytes between functions have no name. The caller owns *ret.
 */
int elf_symbols(const void *data, size_t len, const void *symbols, size_t symbols_len, struct symtab *ret,
		struct error *err);

#endif
