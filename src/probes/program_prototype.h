/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a function of a program takes and gives back: by its debug information, or, of the C library's, by a table. */
#ifndef UPTO_PROBES_PROGRAM_PROTOTYPE_H
#define UPTO_PROBES_PROGRAM_PROTOTYPE_H

#include "symbols/dwarf_file.h"
#include "trace/prototypes.h"

/*
 * By the entry of a function's code. `last`: the parameter to end with, which is then the last one of *ret; NULL: all.
 * False: where one of them is cannot be told. Call prototype_deinit() in either case; *ret is empty before.
 */
bool program_prototype_until(Dwarf_Die *function, const Dwarf_Die *last, struct prototype *ret);

/*
 * Of the function at that address. `names`: all that it has, with '|' between. Of what is known nowhere, the registers.
 * Call prototype_deinit().
 */
void program_prototype_find(const struct dwarf_file *f, uint64_t addr, const char *names, struct prototype *ret);

#endif
