/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who is there, as /proc knows it, and the kernel's tracer does not tell. */
#ifndef UPTO_HOST_HOST_TASKS_H
#define UPTO_HOST_HOST_TASKS_H

#include "import/graph_records.h"

/*
 * Append a record THERE for each task. `begins`: nothing has been recorded yet; else a task may have executed another
 * program since, so that these are left out. One that ends meanwhile may be missing. None is known in a namespace of
 * processes.
 */
void host_tasks_read(bool begins, struct buf *to);

#endif
