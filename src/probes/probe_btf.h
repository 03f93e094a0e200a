/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parameters of the kernel's functions, and what they lead to, by the kernel's own types (BTF). */
#ifndef UPTO_PROBES_PROBE_BTF_H
#define UPTO_PROBES_PROBE_BTF_H

#include "guest/prototypes_btf.h"
#include "probe_values.h"

/* Add a parameter, or $retval, with its members; or all parameters ($params). */
int probe_btf_add(struct probe_values *v, const struct probe_definition *d, const struct probe_arg *a, const char *name,
		  const char *function, const struct btf_prototypes *types, struct error *err);

#endif
