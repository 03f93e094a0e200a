/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace of a text trace (block_lines.h): an event whenever a block is of another function than the block before. So
 * the time from there to the next event is the function's.
 */
#ifndef UPTO_IMPORT_BLOCK_TRACE_H
#define UPTO_IMPORT_BLOCK_TRACE_H

#include "base/error.h"
#include "import_input.h"
#include "trace/builder.h"

struct block_trace_counts {
	uint64_t blocks, functions;
};

int block_trace_write(struct import_input *in, const struct builder_sink *sink, struct block_trace_counts *ret,
		      struct error *err);

#endif
