/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time summed by what functions belong to, or by who ran. */
#ifndef UPTO_TABLES_SUMS_TABLE_H
#define UPTO_TABLES_SUMS_TABLE_H

#include "analysis/sums/sums.h"
#include "table.h"

extern const struct column sums_columns[];

/* "module" …: what sums are by, and the name of the table; NULL behind the last. */
const char *sums_name(unsigned by);

/* `by`: as in sums_analyse(). `by_ns`: shares are of guest time, not of instructions. */
void sums_table_init(struct table *ret, const struct sums *sums, enum sums_by by, bool by_ns);

#endif
