/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long each function ran, by its number. */
#ifndef UPTO_TABLES_TOP_TABLE_H
#define UPTO_TABLES_TOP_TABLE_H

#include "analysis/sums/totals.h"
#include "table.h"

extern const struct column top_columns[];

struct top_choice {
	const bool *functions; /* marks; NULL: all */
	bool by_ns;            /* shares are of guest time, not of instructions */
	double min_pct;        /* of its own code */
};

/* `totals`: by function; NULL: their columns have no values. Functions that did not run have no row. */
void top_table_init(struct table *ret, const struct names *names, const struct functions *f,
		    const struct function_total *totals, const struct top_choice *choice);

#endif
