/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes a smaller trace: for `upto thin`, and for filters while recording. */
#ifndef UPTO_CLI_ARGS_THIN_FILE_H
#define UPTO_CLI_ARGS_THIN_FILE_H

#include "open_trace.h"
#include "select_arg.h"

/* Write what was chosen of the trace to `path` (output_file.h), with the sums of the calls that are left out. */
int thin_file(const struct selected *selected, const struct trace_arg *t, const char *path, bool force,
	      struct thin_counts *ret, struct error *err);

/*
 * Write it to a file that is open and empty. `path`: the same file, NULL: it is memory, which has the sums only if they
 * are asked for.
 */
int thin_to(int fd, const struct selected *selected, const struct trace_arg *t, const char *path,
	    struct thin_counts *ret, struct error *err);

/* Append a line that says what the smaller trace has. */
void thin_put(const struct thin_counts *c, const char *path, struct buf *out);

#endif
