/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pages of the kernel's ring buffers, as they fill: a thread for each CPU takes them into a file without a name.
 * They are decoded when all is over, so that nothing is slow meanwhile.
 */
#ifndef UPTO_HOST_HOST_PAGES_H
#define UPTO_HOST_HOST_PAGES_H

#include "import/graph_records.h"

struct host_pages;

/*
 * `folder`: of the buffers (host_tracing_folder()). `tasks`: who is there (host_tasks.h), until it is freed. NULL: *err
 * is set.
 */
struct host_pages *host_pages_start(const char *folder, const struct buf *tasks, struct error *err);

/* Has no more room been there for what is taken? Nothing more is. */
bool host_pages_are_full(const struct host_pages *p);

/*
 * Nothing more is written there: take the rest. An error is one of writing the files: what came before that can be read
 * nevertheless.
 */
int host_pages_stop(struct host_pages *p, struct error *err);
void host_pages_free(struct host_pages *p);

/* Read what was taken; it must have been stopped. NULL: *err is set. */
struct graph_reader *host_pages_read(struct host_pages *p, struct error *err);

#endif
