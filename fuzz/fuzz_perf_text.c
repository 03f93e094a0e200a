/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text that may be perf script's: a trace that is made of it is one that `upto check` accepts. */
#include "graph_check.h"
#include "import/perf_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int in = memfd_create("text", MFD_CLOEXEC);
	struct graph_writer records = { .fd = memfd_create("records", MFD_CLOEXEC) };

	must(in >= 0 && records.fd >= 0);
	must(write(in, data, size) == (ssize_t)size && lseek(in, 0, SEEK_SET) == 0);
	perf_text_is_one((const char *)data, size);
	perf_text_read(&records, in);
	graph_writer_flush(&records);
	buf_free(&records.out);
	graph_check(records.fd);
	close(in);
	return 0;
}
