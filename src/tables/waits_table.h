/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waits in the order in which they began; and their sums by kind and function. */
#ifndef UPTO_TABLES_WAITS_TABLE_H
#define UPTO_TABLES_WAITS_TABLE_H

#include "analysis/history/history.h"
#include "replay/session.h"
#include "table.h"

extern const struct column waits_columns[];
extern const struct column wait_sums_columns[];

/* `chosen`: marks by number of an absence; NULL: all. */
void waits_table_init(struct table *ret, const struct session *session, const struct history *h, const bool *chosen);
void wait_sums_table_init(struct table *ret, const struct session *session, const struct history *h,
			  const bool *chosen);

#endif
