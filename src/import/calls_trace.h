/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace of what a program with libupto wrote. Threads that ran at the same time have a CPU each; a call lasts as long
 * as it took, with the time that its thread waited in it.
 */
#ifndef UPTO_IMPORT_CALLS_TRACE_H
#define UPTO_IMPORT_CALLS_TRACE_H

#include "base/buf.h"
#include "base/error.h"
#include "trace/builder.h"

#define CALLS_OUTSIDE "[not instrumented]"

struct calls_trace_counts {
	uint64_t calls, threads;
	uint64_t left;       /* calls that longjmp() and the like have ended */
	uint64_t ends_only;  /* ends of calls whose begin was not recorded */
	uint64_t lost;       /* events */
	uint64_t nameless;   /* functions */
	const char *why_cut; /* NULL: the file has its end */
};

/* `ring`: what the ring file has, if there is one. `path` is for messages. */
int calls_trace_write(const struct buf *data, const struct buf *ring, const char *path, const struct builder_sink *sink,
		      struct calls_trace_counts *ret, struct error *err);

#endif
