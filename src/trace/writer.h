/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the container. A chunk is in the file as a whole or not at all. */
#ifndef UPTO_TRACE_WRITER_H
#define UPTO_TRACE_WRITER_H

#include <zstd.h>

#include "base/buf.h"
#include "format.h"

struct writer {
	int fd;             /* the caller owns and closes it */
	uint64_t size;      /* bytes of whole chunks in the file */
	uint64_t number;    /* of the next chunk */
	int failed;         /* errno of the write that failed; nothing is written after it */
	ZSTD_CCtx *zstd;
	struct buf packed;
};

/* Write the file header. Returns 0 or -errno. */
int writer_init(struct writer *w, int fd);
/* Go on with a file whose chunks up to `offset` are whole, overwriting what follows. Returns 0 or -errno. */
int writer_resume(struct writer *w, int fd, uint64_t offset, uint64_t number);
void writer_deinit(struct writer *w);

/*
 * Write one chunk. The caller sets type, cpu, clocks, state and events in `header`; the
 * rest is filled in. Returns 0 or -errno; after a failure the file is cut back to
 * whole chunks, behind which an END has room.
 */
int writer_put(struct writer *w, const struct chunk_header *header, const struct buf *payload, int level);

/*
 * The same in two steps, in any order of chunks: pack the payload into *out, and write it. Packing fills in
 * header->unpacked.
 */
int writer_pack(struct writer *w, struct chunk_header *header, const struct buf *payload, int level, struct buf *out);
int writer_put_packed(struct writer *w, const struct chunk_header *header, struct buf *packed);

/*
 * Write a chunk as another trace has it: `stored` is its payload, packed, of header->unpacked bytes. Returns 0 or
 * -errno.
 */
int writer_copy(struct writer *w, const struct chunk_header *header, const struct buf *stored);

/* Forget a failure, so that the caller can try to write a last small chunk. */
void writer_retry(struct writer *w);

#endif
