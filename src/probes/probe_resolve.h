/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A definition of a probe, in the kernel's words with addresses and registers: whatever its place is. */
#ifndef UPTO_PROBES_PROBE_RESOLVE_H
#define UPTO_PROBES_PROBE_RESOLVE_H

#include "symbols/dwarf_file.h"
#include "probe_definition.h"

/*
 * Append a line for each place that is meant in the file. Places where a value cannot be had are left out, and counted;
 * an error: it can be had nowhere, or there is no such place.
 */
int probe_resolve(const struct dwarf_file *f, const struct probe_definition *d, struct buf *out, size_t *ret_left_out,
		  struct error *err);

#endif
