/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How far down each thread's kernel stack was used. */
#ifndef UPTO_TABLES_STACK_WATCH_TABLE_H
#define UPTO_TABLES_STACK_WATCH_TABLE_H

#include "analysis/calls/deepest.h"
#include "table.h"

extern const struct column stack_watch_columns[];

/* `each`: of each thread (deepest_of_each()). `of`: marks by number of the threads that have rows; NULL: all. */
void stack_watch_table_init(struct table *ret, const struct names *names, const struct threads *threads,
			    const struct deepest *each, uint64_t size, const bool *of);

#endif
