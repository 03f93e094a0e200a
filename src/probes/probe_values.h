/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The values of a probe, ready to be computed where it stands. */
#ifndef UPTO_PROBES_PROBE_VALUES_H
#define UPTO_PROBES_PROBE_VALUES_H

#include "probe_definition.h"

struct probe_value {
	char *name;
	struct probe_type type; /* format and bytes are said */
	/* gives the number itself; of strings, arrays: where they begin */
	struct probe_code code;
	bool is_comm; /* instead: what the task is called */
	char *words;  /* instead: what a definition asks for, as it is; NULL: not that */
};

struct probe_values {
	struct probe_value *list;
	size_t count;
};

void probe_values_deinit(struct probe_values *v);

/*
 * Add one; all are taken but the name, which is copied. A second one with that name is called name_1. An array of
 * strings is added as so many values.
 */
void probe_values_add(struct probe_values *v, const char *name, struct probe_type type, struct probe_code *code);

/* Parameter `i`, from 0 on, at a function's begin, or where it returns. */
void probe_code_add_argument(struct probe_code *c, bool returns, unsigned i);

/* Where a function's return address is, at its begin, or where it returns: rsp points there. */
void probe_code_add_entry(struct probe_code *c, bool returns, int reg);

#endif
