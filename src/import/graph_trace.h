/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace of what the kernel's function_graph tracer recorded. Each record tells how deep its call is: so what was
 * lost, and what was under way before, never makes a stack wrong for longer than up to the next call of that thread.
 */
#ifndef UPTO_IMPORT_GRAPH_TRACE_H
#define UPTO_IMPORT_GRAPH_TRACE_H

#include "graph_records.h"
#include "trace/builder.h"

#define GRAPH_OUTSIDE "[not traced]"

struct graph_trace_counts {
	uint64_t calls;
	uint64_t threads;
	uint64_t ends_only; /* ends of calls whose begin is not there */
	uint64_t mended;    /* calls whose end is not there: they end where others show that they have */
	uint64_t lost;      /* records, as far as that is known */
	uint64_t gaps;      /* places where records were lost */
	bool by_ends;       /* only ends were recorded (tracing_thresh): of calls that took long enough */
};

/* What of the records is taken; 0 and NULL: all. What lies before or behind is as if it had not been recorded. */
struct graph_part {
	uint64_t from_ns;                     /* from then on */
	const char *start_entry, *stop_entry; /* from where that function is called, up to where that one is */
	const char *start_exit, *stop_exit;   /* from where that function has returned, up to where that one has */
	uint64_t max_calls;                   /* so many calls have begun … */
	bool by_ends;                         /* … or ended, where nothing tells of begins */
	bool monotonic;                       /* records' times are of CLOCK_MONOTONIC */
};

/* Read all of it. `of`: what it is, for the trace: "a trace.dat of trace-cmd". `path` is for messages. `part`: NULL: all. */
int graph_trace_write(struct graph_reader *reader, const char *of, const char *path, const struct graph_part *part,
		      const struct builder_sink *sink, struct graph_trace_counts *ret, struct error *err);

#endif
