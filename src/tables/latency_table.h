/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UPTO_TABLES_LATENCY_TABLE_H
#define UPTO_TABLES_LATENCY_TABLE_H

#include "analysis/latency/latency.h"
#include "table.h"

extern const struct column latency_columns[];

void latency_table_init(struct table *ret, const struct session *session, const struct latencies *latencies);

#endif
