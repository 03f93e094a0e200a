/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command that looks into what a row of an answer is about. */
#ifndef UPTO_CLI_PRINT_SEE_H
#define UPTO_CLI_PRINT_SEE_H

#include "cli/args/open_trace.h"

/* "upto stack --at 8.32s --pid 1 TRACE": where the thread was then. NULL: of all threads. */
void see_stack(struct buf *out, const struct trace_arg *t, uint64_t ns, const struct thread *thread);

/*
 * "upto top --from 8.32s --to 8.4s --pid 1 TRACE": what it ran meanwhile; NULL: what all threads did. `cpu` -1: on all
 * vCPUs.
 */
void see_top(struct buf *out, const struct trace_arg *t, uint64_t from_ns, uint64_t to_ns, const struct thread *thread,
	     int cpu);

/* A trace's path, as a shell takes it: in quotes, if it needs some. Control characters are shown as escapes. */
void see_path(struct buf *out, const char *path);
/* The same, as a string. The caller frees it. */
char *see_path_text(const char *path);

#endif
