/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From what a definition asks for to values that can be computed: registers and memory, or what the kernel's types
 * name. */
#ifndef UPTO_PROBES_PROBE_COMPILE_H
#define UPTO_PROBES_PROBE_COMPILE_H

#include "guest/prototypes_btf.h"
#include "probe_values.h"

/*
 * Those of a definition, for one function that it means (a name in the symbol table; "": none). `types`: the kernel's,
 * or the module's; NULL: there are none. Call probe_values_deinit() in either case.
 */
int probe_compile(struct probe_values *ret, const struct probe_definition *d, const char *function,
		  const struct btf_prototypes *types, struct error *err);
/* Does it take the kernel's types? */
bool probe_compile_needs_types(const struct probe_definition *d);
/* Add the one of d->args[i]. */
int probe_compile_one(struct probe_values *v, const struct probe_definition *d, size_t i, const char *function,
		      const struct btf_prototypes *types, struct error *err);

#endif
