/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a function of a program takes and gives back: by its debug information, or, of the C library's, by a table. */
#ifndef UPTO_PROBES_PROGRAM_PROTOTYPE_H
#define UPTO_PROBES_PROGRAM_PROTOTYPE_H

#include "symbols/dwarf_file.h"
#include "trace/prototypes.h"

/*
 * Of the function at that address. `names`: all that it has, with '|' between. Of what is known nowhere, the registers.
 * Call prototype_deinit().
 */
void program_prototype_find(const struct dwarf_file *f, uint64_t addr, const char *names, struct prototype *ret);

#endif
