/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads and their programs as a tree, with how long each ran. */
#ifndef UPTO_TABLES_PROCESSES_TABLE_H
#define UPTO_TABLES_PROCESSES_TABLE_H

#include "analysis/processes/processes.h"
#include "table.h"

extern const struct column processes_columns[];

/*
 * With `only_ran`, programs that did not run in the span of *p have no row. `of`: marks by number of the threads that
 * have some; NULL: all.
 */
void processes_table_init(struct table *ret, const struct threads *threads, const struct processes *p, bool only_ran,
			  const bool *of);
/* Of how many threads there are rows. */
size_t processes_table_threads(const struct threads *threads, const struct processes *p, bool only_ran,
			       const bool *of);

#endif
