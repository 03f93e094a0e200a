/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of a program or library, out of its file. */
#ifndef UPTO_SYMBOLS_ELF_SYMBOLS_H
#define UPTO_SYMBOLS_ELF_SYMBOLS_H

#include "symtab.h"

/*
 * Out of .symtab, or where that is missing .dynsym. `symbols` is a file whose
 * .symtab is to be taken instead, its debug file or the file itself. Addresses are offsets in the
 * file; C++ and Rust names are as in the source. A function has the size that
 * the table tells; where it tells none, it reaches to the next or to the end of
 * its section. Bytes between functions have no name. The caller owns *ret.
 */
int elf_symbols(const void *data, size_t len, const void *symbols, size_t symbols_len, struct symtab *ret, struct error *err);

#endif
