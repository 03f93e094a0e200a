/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of function_graph, in any order, with any depths and times: a trace that is made of them is one that `upto
 * check` accepts, but for what it says is missing. Each record of the input is eight bytes, so that few changes make
 * other ones.
 */
#include "graph_check.h"

/* kind and CPU; PID; other; function; depth; time since the last one, which may go back; where an end began */
static void put_records(struct graph_writer *w, const uint8_t *data, size_t size)
{
	uint64_t ns = 1000;

	for (; size >= 8; data += 8, size -= 8) {
		struct graph_record r = {
			.kind = data[0] % (GRAPH_FAILED + 1), .cpu = data[0] >> 4 == 15 ? 5000 : data[0] >> 6,
			.pid = data[1] % 6, .other = data[2] % 6, .function = 0xffffffff81000000u + data[3] % 16 * 16u,
			.depth = data[4] % 8,
		};

		ns += data[5] - (data[6] & 0x80 ? 100u : 0);
		r.ns = ns;
		r.begin_ns = data[6] & 0x7f ? ns - data[6] % 64u * 8 : 0;
		if (r.kind == GRAPH_LOST)
			r.count = data[7];
		graph_writer_put(w, &r, data[7] & 1 ? "text" : "");
	}
	graph_writer_put(w, &(struct graph_record){ .kind = GRAPH_END }, NULL);
	graph_writer_flush(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct graph_writer records = { .fd = memfd_create("records", MFD_CLOEXEC) };

	must(records.fd >= 0);
	put_records(&records, data, size);
	buf_free(&records.out);
	graph_check(records.fd);
	return 0;
}
