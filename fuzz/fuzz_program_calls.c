/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a program with libupto wrote, and the ring beside it: a trace that is made of any bytes is one that `upto check`
 * accepts, but for what it says is missing. The input is a ring's size, in two bytes, the ring, and the file.
 */
#include "fuzz.h"

#include <unistd.h>

#include "analysis/check/check.h"
#include "import/calls_trace.h"
#include "libupto/calls_file.h"
#include "trace/writer.h"

static void put(void *context, const struct chunk_header *header, struct buf *payload, int level)
{
	must(writer_put(context, header, payload, level ? level : 1) == 0);
}

static void check(int fd, const struct calls_trace_counts *counts)
{
	struct reader *reader;
	struct names names;
	struct check found;
	struct error err;
	char path[32];

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	must(reader_open(path, &reader, &err) == 0);
	must(reader->ended && reader_lost(reader) == counts->lost);
	must(names_init(&names, reader, &err) == 0);
	must(check_analyse(reader, &names, true, &found, &err) == 0);
	if (found.n_findings && !counts->lost)
		fprintf(stderr, "%s\n", found.findings[0].text);
	must(!found.n_findings || counts->lost);
	check_deinit(&found);
	names_deinit(&names);
	reader_free(reader);
}

/* A ring's bytes as a ring file has them. */
static void put_ring(const uint8_t *data, size_t size, struct buf *ret)
{
	static const uint8_t zeros[CALLS_RING_UNIT];

	if (!size)
		return;
	buf_put(ret, data, size);
	buf_put(ret, zeros, (CALLS_RING_UNIT - size % CALLS_RING_UNIT) % CALLS_RING_UNIT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t ring_size = size < 2 ? 0 : data[0] | (size_t)data[1] << 8;
	int out = memfd_create("trace", MFD_CLOEXEC), r;
	struct buf ring = { 0 }, file = { 0 };
	struct calls_trace_counts counts;
	struct writer w;
	struct error err;

	if (size >= 2)
		size -= 2, data += 2;
	ring_size = ring_size < size ? ring_size : size;
	put_ring(data, ring_size, &ring);
	buf_put(&file, data + ring_size, size - ring_size);
	must(out >= 0 && writer_init(&w, out) == 0);
	r = calls_trace_write(&file, &ring, "file", &(struct builder_sink){ .put = put, .context = &w }, &counts, &err);
	writer_deinit(&w);
	if (r == 0)
		check(out, &counts);
	else
		must(!strncmp(err.text, "file:", 5));
	close(out);
	buf_free(&ring);
	buf_free(&file);
	return 0;
}
