/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A definition that names lines and variables of the source, in the kernel's language, which names instructions and
 * registers: one for each place that it means. What that language cannot say is code in braces (probe_code.h).
 */
#ifndef UPTO_PROBES_DWARF_DEFINITION_H
#define UPTO_PROBES_DWARF_DEFINITION_H

#include "symbols/dwarf_file.h"
#include "probe_definition.h"

/*
 * Append a line for each place. Places where a value cannot be had are left out, and counted; an error: it can be had
 * nowhere, or there is no such place.
 */
int dwarf_definition_put(const struct dwarf_file *f, const struct probe_definition *d, struct buf *out,
			 size_t *ret_left_out, struct error *err);

/*
 * The same of an address of a program's, without values: where a function begins, or returns. `path`: the program, as
 * the guest has it.
 */
void dwarf_definition_put_address(const struct dwarf_file *f, const char *path, uint64_t addr, bool returns,
				  struct buf *out);

#endif
