/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UPTO_TABLES_EVENTS_TABLE_H
#define UPTO_TABLES_EVENTS_TABLE_H

#include "analysis/events/event_sums.h"
#include "table.h"

extern const struct column event_sums_columns[], event_pairs_columns[];

/* A column for each key, and the sums of a field's values if there is one. */
void event_sums_table_init(struct table *ret, const struct event_sums *sums, bool has_value);

/* `marks`: by number of pair, those that are shown. */
void event_pairs_table_init(struct table *ret, const struct event_pairs *pairs, const struct event_sources *of,
			    const bool *marks);

/* Append the lines of a histogram, a line each: "64 to 127  12 |@@@@    |". */
void event_histogram_put(const struct event_histogram *h, struct buf *out);

#endif
