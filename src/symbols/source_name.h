/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UPTO_SYMBOLS_SOURCE_NAME_H
#define UPTO_SYMBOLS_SOURCE_NAME_H

enum { SOURCE_NAME_MAX = 4096 };

/*
 * The function that a linker's name stands for, to be freed: C++, Rust and D
 * names as in the source, without parameters; no symbol version ("@@GLIBC_2.34");
 * at most SOURCE_NAME_MAX bytes.
 */
char *source_name(const char *name);

#endif
