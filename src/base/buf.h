/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A growing byte buffer, and the little-endian integers and varints put into it. */
#ifndef UPTO_BASE_BUF_H
#define UPTO_BASE_BUF_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct buf {
	uint8_t *data;
	size_t len, cap;
};

void buf_free(struct buf *b);
void buf_grow(struct buf *b, size_t more); /* afterwards cap >= len + more */
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static inline void buf_reserve(struct buf *b, size_t more)
{
	if (b->cap - b->len < more)
		buf_grow(b, more);
}

static inline void buf_put(struct buf *b, const void *data, size_t n)
{
	buf_reserve(b, n);
	if (n)
		memcpy(b->data + b->len, data, n);
	b->len += n;
}

static inline void buf_put_u8(struct buf *b, uint8_t v)
{
	buf_reserve(b, 1);
	b->data[b->len++] = v;
}

/* LEB128: seven bits a byte, low bits first, the top bit set on all but the last. */
static inline void buf_put_varint(struct buf *b, uint64_t v)
{
	buf_reserve(b, 10);
	while (v >= 0x80) {
		b->data[b->len++] = v | 0x80;
		v >>= 7;
	}
	b->data[b->len++] = v;
}

/* Signed numbers with small magnitudes stay small: 0, -1, 1, -2 … become 0, 1, 2, 3 … */
static inline uint64_t zigzag(int64_t v)
{
	return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}

static inline void buf_put_svarint(struct buf *b, int64_t v)
{
	buf_put_varint(b, zigzag(v));
}

static inline void buf_put_str(struct buf *b, const char *s, size_t n)
{
	buf_put_varint(b, n);
	buf_put(b, s, n);
}

#endif
