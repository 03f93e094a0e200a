/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A bounded reader over bytes that somebody else wrote.  Reading past the end
 * yields zero and sets `bad`, which stays set. Check `bad` once after a group of
 * reads, before you use the values.
 */
#ifndef UPTO_BASE_CURSOR_H
#define UPTO_BASE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor {
	const uint8_t *p, *end;
	bool bad;
};

static inline struct cursor cursor_over(const void *data, size_t len)
{
	return (struct cursor){ .p = data, .end = len ? (const uint8_t *)data + len : data };
}

static inline size_t cursor_left(const struct cursor *c)
{
	return (size_t)(c->end - c->p);
}

/* The next n bytes; NULL, and `bad` set, if fewer are left. */
static inline const void *cursor_take(struct cursor *c, uint64_t n)
{
	const void *p = c->p;

	if (c->bad || n > cursor_left(c)) {
		c->bad = true;
		return NULL;
	}
	c->p += n;
	return p;
}

static inline uint8_t cursor_u8(struct cursor *c)
{
	if (c->p >= c->end) {
		c->bad = true;
		return 0;
	}
	return *c->p++;
}

#define CURSOR_LE(name, type)                                  \
	static inline type name(struct cursor *c)              \
	{                                                      \
		type v = 0;                                    \
		const void *p = cursor_take(c, sizeof v);      \
                                                               \
		if (p)                                         \
			memcpy(&v, p, sizeof v);               \
		return v;                                      \
	}
CURSOR_LE(cursor_u16, uint16_t)
CURSOR_LE(cursor_u32, uint32_t)
CURSOR_LE(cursor_u64, uint64_t)
#undef CURSOR_LE

static inline uint64_t cursor_varint(struct cursor *c)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte = cursor_u8(c);

		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return v;
	}
	c->bad = true;
	return 0;
}

static inline int64_t cursor_svarint(struct cursor *c)
{
	uint64_t v = cursor_varint(c);

	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

#endif
