/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text that may be function_graph's: a trace that is made of it is one that `upto check` accepts. */
#include "made_check.h"

#include <unistd.h>

#include "import/graph_text.h"
#include "import/graph_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int in = memfd_create("text", MFD_CLOEXEC), between = memfd_create("records", MFD_CLOEXEC),
	    out = memfd_create("trace", MFD_CLOEXEC), r;
	struct graph_writer records = { .fd = between };
	struct graph_reader *reader;
	struct graph_trace_counts counts;
	struct writer w;
	struct error err;

	must(in >= 0 && between >= 0 && out >= 0 && writer_init(&w, out) == 0);
	must(write(in, data, size) == (ssize_t)size && lseek(in, 0, SEEK_SET) == 0);
	graph_text_is_one((const char *)data, size);
	graph_text_read(&records, in);
	graph_writer_flush(&records);
	buf_free(&records.out);
	lseek(between, 0, SEEK_SET);
	reader = graph_reader_of(between, "file");
	r = graph_trace_write(reader, "text", "file", NULL, &(struct builder_sink){ .put = made_put, .context = &w }, &counts, &err);
	graph_reader_free(reader);
	writer_deinit(&w);
	if (r == 0)
		made_check(out, counts.lost, counts.gaps);
	else
		must(!strncmp(err.text, "file:", 5));
	close(in);
	close(out);
	return 0;
}
