/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a trace that was imported has, as the records that it was made of (graph_records.h): for traces that are merged
 * (merge.h). They go through temporary files, so that memory does not grow with them.
 */
#ifndef UPTO_IMPORT_TRACE_RECORDS_H
#define UPTO_IMPORT_TRACE_RECORDS_H

#include "graph_records.h"
#include "replay/session.h"

struct records_source {
	const struct session *session;
	char *object;      /* behind each function's name: " [app]", or "" */
	uint64_t base_ns;  /* what its time 0 is in the records' clock */
	uint64_t number;   /* of the source: tells functions of several apart */
	bool is_kernel;    /* else a program's */
};

/* Each in the order of time. Of records of the same time, those of the first part come first. */
enum records_part {
	RECORDS_MADE,    /* a kernel's: who made whom, and who was there */
	RECORDS_CALLS,   /* calls, switches, and losses */
	RECORDS_FACTS,   /* events, wake-ups, lines of the log */
	RECORDS_CHANGES, /* a kernel's: programs that were executed, names, exits */
	RECORDS_PARTS,
};

/*
 * Write them to a temporary file, which the result reads. NULL: *err is set; `path` is for messages. `again`: another
 * descriptor of the file, with a place of its own; NULL: none is wanted.
 */
struct graph_reader *trace_records_read(const struct records_source *of, enum records_part part, const char *path,
					int *again, struct error *err);

/* All are written, to be read from the first one on. -1: *err is set. */
int trace_records_end(struct graph_writer *w, const char *path, struct error *err);

#endif
