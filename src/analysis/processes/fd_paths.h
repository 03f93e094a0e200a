/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files behind file descriptors: followed through the system calls that open, copy and close them, and through fork
 * and exec. What a process had open before the trace's first call, before a gap, or got by a socket, has no path;
 * nor has anything where calls were left out.
 */
#ifndef UPTO_ANALYSIS_FD_PATHS_H
#define UPTO_ANALYSIS_FD_PATHS_H

#include "syscall_list.h"
#include "trace/texts.h"

struct fd_paths {
	const char **paths;  /* by call: of the descriptor that is its first argument; NULL: not known */
	struct fd_memory *memory;
};

/* `calls` are all calls of a trace, in the order of entry. The texts must outlive *ret. */
void fd_paths_init(struct fd_paths *ret, const struct syscalls *calls, const struct texts *texts,
		   const struct threads *threads);
void fd_paths_deinit(struct fd_paths *p);

#endif
