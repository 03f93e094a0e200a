/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes traces of what other tools recorded. To add a format: a file that writes it with made_trace.h, and a case in
 * import.c, which tells formats by their content.
 */
#ifndef UPTO_IMPORT_IMPORT_H
#define UPTO_IMPORT_IMPORT_H

#include "base/error.h"
#include "block_trace.h"
#include "calls_trace.h"
#include "graph_trace.h"
#include "kfi_trace.h"

enum import_format { IMPORT_KFI, IMPORT_BLOCKS, IMPORT_CALLS, IMPORT_GRAPH };

struct imported {
	enum import_format format;
	union {
		struct kfi_trace_counts kfi;
		struct block_trace_counts blocks;
		struct calls_trace_counts calls;
		struct graph_trace_counts graph;
	};
};

/*
 * Read the log from the file up to its end; `path` is for messages ("FILE:LINE: what was expected"), and tells where what
 * lies beside the file is, as a ring of a program's calls. `map`: names of the addresses that a log or memory has, or
 * NULL.
 */
int import_log(int fd, const char *path, const struct symbol_map *map, const struct builder_sink *sink,
	       struct imported *ret, struct error *err);

#endif
