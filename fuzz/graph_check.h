/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For targets that make records of function_graph: a trace that is made of them is one that `upto check` accepts. */
#ifndef UPTO_FUZZ_GRAPH_CHECK_H
#define UPTO_FUZZ_GRAPH_CHECK_H

#include <unistd.h>

#include "import/graph_trace.h"
#include "made_check.h"

/* `records`: a file of them, which is closed. */
static inline void graph_check(int records)
{
	int out = memfd_create("trace", MFD_CLOEXEC), r;
	struct graph_trace_counts counts;
	struct graph_reader *reader;
	struct writer w;
	struct error err;

	must(out >= 0 && writer_init(&w, out) == 0 && lseek(records, 0, SEEK_SET) == 0);
	reader = graph_reader_of(records, "file");
	r = graph_trace_write(reader, "records", "file", NULL, &(struct builder_sink){ .put = made_put, .context = &w },
			      &counts, &err);
	graph_reader_free(reader);
	writer_deinit(&w);
	if (r == 0)
		made_check(out, counts.lost, counts.gaps);
	else
		must(!strncmp(err.text, "file:", 5));
	close(out);
}

#endif
