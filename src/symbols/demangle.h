/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UPTO_SYMBOLS_DEMANGLE_H
#define UPTO_SYMBOLS_DEMANGLE_H

/* The C++, Rust or D function that the linker's name stands for, without parameters, to be freed; NULL: none of these. */
char *demangle(const char *name);

#endif
