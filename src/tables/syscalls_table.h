/* SPDX-License-Identifier: GPL-2.0-or-later */
/* System calls in the order of their entry, as strace prints them; and their sums by name. */
#ifndef UPTO_TABLES_SYSCALLS_TABLE_H
#define UPTO_TABLES_SYSCALLS_TABLE_H

#include "analysis/processes/fd_paths.h"
#include "table.h"
#include "trace/facts.h"

extern const struct column syscalls_columns[];
extern const struct column syscall_sums_columns[];

/* What tells of system calls. */
struct syscall_sources {
	const struct syscalls *calls;
	const struct texts *texts;
	const struct threads *threads;
	const struct fd_paths *files;
	const struct facts *facts;
};

/* `chosen`: marks by call; NULL: all. *of must outlive the table, too. */
void syscalls_table_init(struct table *ret, const struct syscall_sources *of, const bool *chosen);
void syscall_sums_table_init(struct table *ret, const struct syscalls *calls, const bool *chosen);

#endif
