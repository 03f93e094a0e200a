/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's log, line by line. */
#ifndef UPTO_TABLES_LOG_TABLE_H
#define UPTO_TABLES_LOG_TABLE_H

#include "analysis/ending/kernel_log.h"
#include "replay/threads.h"
#include "table.h"

extern const struct column log_columns[];

/* `chosen`: marks by line; NULL: all. */
void log_table_init(struct table *ret, const struct threads *threads, const struct kernel_log *log, const bool *chosen);

#endif
