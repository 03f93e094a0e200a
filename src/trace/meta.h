/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Meta data of a trace: key=value lines. A backslash, a newline and other control
 * characters in a value are written \xHH. docs/format.md lists the keys.
 */
#ifndef UPTO_TRACE_META_H
#define UPTO_TRACE_META_H

#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/name_table.h"

struct meta {
	struct name_table keys; /* in the order in which they came */
	char **values;          /* by number of their keys */
	size_t cap;
};

void meta_deinit(struct meta *m);

/* Set the value of a key, replacing the one that it had. Copies both strings. */
void meta_set(struct meta *m, const char *key, const char *value);

/* The value, or NULL. Valid until the key is set again. */
const char *meta_get(const struct meta *m, const char *key);
/* The value as a number (decimal or 0x…), or `otherwise`. */
uint64_t meta_get_u64(const struct meta *m, const char *key, uint64_t otherwise);

/* All keys, by number: 0 to meta_count() - 1. */
static inline size_t meta_count(const struct meta *m)
{
	return m->keys.count;
}

/* Valid until the next meta_set(). */
static inline const char *meta_key(const struct meta *m, size_t i)
{
	return name_table_text(&m->keys, (uint32_t)i);
}

static inline const char *meta_value(const struct meta *m, size_t i)
{
	return m->values[i];
}

/* Append one line. */
void meta_put(struct buf *out, const char *key, const char *value);
void meta_put_u64(struct buf *out, const char *key, uint64_t value);

/* Set the keys of all lines in data, which are written as by meta_put(). */
int meta_parse(struct meta *m, const void *data, size_t len, struct error *err);

#endif
