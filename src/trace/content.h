/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a mapped file really is: its build-id, or hashes of pieces of it, as they were in guest memory. Path, size and
 * inode do not tell that: in an overlay or a container, and after a file was replaced, another one has them
 * (docs/format.md, chunk CODE).
 */
#ifndef UPTO_TRACE_CONTENT_H
#define UPTO_TRACE_CONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cursor.h"

enum {
	CONTENT_ID_MAX = 64,
	CONTENT_PIECES = 256,     /* at most so many are kept */
	CONTENT_PIECE_MAX = 4096, /* bytes */
};

struct content_piece {
	uint64_t offset; /* in the file */
	uint64_t hash;   /* of its bytes, by content_hash() */
	uint32_t len;    /* at most CONTENT_PIECE_MAX */
};

struct content {
	uint8_t id[CONTENT_ID_MAX]; /* build-id; if it was read, it alone decides */
	size_t id_len;              /* 0: it was not */
	struct content_piece *pieces;
	size_t count, cap;
};

void content_deinit(struct content *c);

/* Is anything known? */
static inline bool content_known(const struct content *c)
{
	return c->id_len || c->count;
}

uint64_t content_hash(const void *data, size_t len);

/* Append a content, with the pieces from that index on. */
void content_put(struct buf *out, const struct content *c, size_t first_piece);

/* Add what a payload says; pieces that there is no room for are left out. Returns false if the payload is damaged. */
bool content_add(struct content *c, struct cursor *in);

/* The piece at that offset, or NULL. */
const struct content_piece *content_piece_at(const struct content *c, uint64_t offset);

/* Add a piece. Returns false if its offset has one already, or if there is no room. */
bool content_add_piece(struct content *c, const struct content_piece *piece);

#endif
