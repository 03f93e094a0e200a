/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chunks on their way to the file: compressed and written by a thread of their
 * own, in order, while the drain thread goes on emptying the rings. All
 * functions are the drain thread's, but for pack_start().
 */
#ifndef UPTO_RECORDER_PACK_H
#define UPTO_RECORDER_PACK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "trace/format.h"

bool pack_start(int fd);

/*
 * Queue a chunk; its payload is taken and *payload emptied. Waits while many
 * are queued. `level` of zstd; 0: as thorough as there is time for.
 */
void pack_put(const struct chunk_header *header, struct buf *payload, int level);

/* Wait until all that was queued is written, or has failed to be. */
void pack_flush(void);

/* After a failure, once flushed: forget it, so that a last small chunk can be tried. */
void pack_retry(void);

void pack_finish(void);

/* Any thread: errno of the write that failed, 0: none; bytes written; events in chunks that could not be. */
int pack_failed(void);
uint64_t pack_size(void);
uint64_t pack_lost(void);

#endif
