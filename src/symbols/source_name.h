/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UPTO_SYMBOLS_SOURCE_NAME_H
#define UPTO_SYMBOLS_SOURCE_NAME_H

enum { SOURCE_NAME_MAX = 4096 };

/*
 * The name of a function as in the source, from the linker's name: C++ and Rust
 * names are demangled, without parameters, and the symbol version ("@@GLIBC_2.34") is
 * cut off. At most SOURCE_NAME_MAX bytes. The caller frees it.
 */
char *source_name(const char *name);

#endif
