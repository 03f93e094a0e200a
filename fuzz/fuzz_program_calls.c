/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a program with libupto wrote, and the ring beside it: a trace that is made of any bytes is one that `upto check`
 * accepts, but for what it says is missing. The input is a ring's size, in two bytes, the ring, and the file.
 */
#include "made_check.h"

#include <unistd.h>

#include "import/calls_trace.h"
#include "libupto/calls_file.h"

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
	r = calls_trace_write(&file, &ring, "file", &(struct builder_sink){ .put = made_put, .context = &w }, &counts, &err);
	writer_deinit(&w);
	if (r == 0)
		made_check(out, counts.lost, counts.lost);
	else
		must(!strncmp(err.text, "file:", 5));
	close(out);
	buf_free(&ring);
	buf_free(&file);
	return 0;
}
