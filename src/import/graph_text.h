/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text that the kernel prints of its function_graph tracer, in `trace` and `trace_pipe`, with times (option
 * funcgraph-abstime); with funcgraph-proc, or without: then tasks are told where they change.
 *
 *    19.120345 |   0)    cat-123     |               |  vfs_read() {
 *    19.120346 |   0)    cat-123     |   0.541 us    |    rw_verify_area();
 *    19.120350 |   0)    cat-123     |   5.012 us    |  } … vfs_read
 */
#ifndef UPTO_IMPORT_GRAPH_TEXT_H
#define UPTO_IMPORT_GRAPH_TEXT_H

#include "graph_records.h"

/* Is it such text that begins so? */
bool graph_text_is_one(const char *text, size_t len);

/* Put what it says, up to the file's end (graph_reader_start()). */
void graph_text_read(struct graph_writer *w, int fd);

/* Read the file, whose descriptor can seek. NULL: *err is set. */
struct graph_reader *graph_text_open(int fd, const char *path, struct error *err);

#endif
