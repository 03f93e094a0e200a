/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compresses chunks and writes them to the file, in order, in a thread of its own,
 * while the drain thread goes on emptying the rings. Only the drain thread calls
 * these functions, except pack_start() and the last three.
 */
#ifndef UPTO_RECORDER_PACK_H
#define UPTO_RECORDER_PACK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "trace/format.h"

bool pack_start(int fd);

/*
 * Queue a chunk. Takes over the payload's memory and empties *payload. Waits while
 * many chunks are queued. `level` is zstd's; 0: the best that there is time for.
 */
void pack_put(const struct chunk_header *header, struct buf *payload, int level);

/* Wait until all queued chunks are written, or have failed. */
void pack_flush(void);

/* No chunk of events will come: see hold.h. Called after pack_flush(). */
void pack_let_go(void);

/* Forget a failure, so that a last small chunk can be tried. Called after pack_flush(). */
void pack_retry(void);

void pack_finish(void);

/*
 * From any thread: errno of the write that failed (0: none); bytes written; events in chunks that could not be written.
 */
int pack_failed(void);
uint64_t pack_size(void);
uint64_t pack_lost(void);

#endif
