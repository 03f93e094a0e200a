/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests to block devices, one by one, and added up by device and operation. */
#ifndef UPTO_TABLES_DISK_TABLE_H
#define UPTO_TABLES_DISK_TABLE_H

#include "analysis/processes/disk_requests.h"
#include "replay/threads.h"
#include "table.h"

extern const struct column disk_columns[], disk_sums_columns[];

/* `chosen`: marks by request. */
void disk_table_init(struct table *ret, const struct threads *threads, const struct disk_requests *requests,
		     const bool *chosen);
void disk_sums_table_init(struct table *ret, const struct disk_requests *requests, const bool *chosen);

#endif
