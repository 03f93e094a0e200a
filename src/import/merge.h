/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One trace of a kernel's calls, as upto host recorded them, and of programs' calls, as libupto did meanwhile: each
 * thread has both, the kernel's above the program's. Their clocks are CLOCK_MONOTONIC; which CPU a program's thread was
 * on is known by the kernel's switches.
 */
#ifndef UPTO_IMPORT_MERGE_H
#define UPTO_IMPORT_MERGE_H

#include "graph_trace.h"
#include "replay/session.h"

/* META's keys: what CLOCK_MONOTONIC was at the trace's begin. A trace has one of them, or none. */
#define MERGE_KERNEL "host.monotonic_ns"
#define MERGE_PROGRAM "program.monotonic_ns"

/* One of them is a kernel's. `path` is for messages. */
int merge_write(const struct session *const *sessions, size_t n, const char *path, const struct builder_sink *sink,
		struct graph_trace_counts *ret, struct error *err);

#endif
