/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How often each interrupt and exception came, and how long its handler ran: a row for each vector. */
#ifndef UPTO_TABLES_INTERRUPTS_TABLE_H
#define UPTO_TABLES_INTERRUPTS_TABLE_H

#include "analysis/sums/interrupts.h"
#include "table.h"

extern const struct column interrupts_columns[];

void interrupts_table_init(struct table *ret, const struct session *session, const struct interrupts *interrupts);

#endif
