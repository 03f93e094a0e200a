/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When each function was entered for the first time, in that order. */
#ifndef UPTO_TABLES_FIRST_TABLE_H
#define UPTO_TABLES_FIRST_TABLE_H

#include "analysis/sums/functions.h"
#include "replay/call_values.h"
#include "replay/session.h"
#include "table.h"

extern const struct column first_columns[];

/* What functions were given. */
struct first_values {
	const struct call_values *values; /* NULL: nobody asks */
	bool behind_name; /* it stands behind the function's name */
};

/* `chosen`: marks by function; NULL: all. Functions that were never entered have no row. */
void first_table_init(struct table *ret, const struct session *session, const struct functions *f, const bool *chosen,
		      const struct first_values *values);

#endif
