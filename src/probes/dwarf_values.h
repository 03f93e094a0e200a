/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The variables of the source at a place of the code, and what is asked for of them. */
#ifndef UPTO_PROBES_DWARF_VALUES_H
#define UPTO_PROBES_DWARF_VALUES_H

#include "dwarf_places.h"
#include "probe_values.h"

/*
 * Those of a definition at one of its places. What has no name of the source is left to probe_values.h. Call
 * probe_values_deinit() in either case.
 */
int dwarf_values_init(struct probe_values *ret, const struct dwarf_file *f, const struct probe_definition *d,
		      const struct dwarf_place *place, struct error *err);

/*
 * Call `each` for the variables that can be seen at a place, inner ones first. `type`: as in C. `why`: why it cannot be
 * had there; NULL: it can.
 */
void dwarf_each_variable(const struct dwarf_file *f, const struct dwarf_place *place,
			 void (*each)(void *context, const char *type, const char *name, const char *why),
			 void *context);

#endif
