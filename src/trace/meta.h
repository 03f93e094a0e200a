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

struct meta_entry {
	char *key, *value;
};

struct meta {
	struct meta_entry *entries;
	size_t count, cap;
};

void meta_deinit(struct meta *m);

/* Set the value of a key, replacing the one that it had. Copies both strings. */
void meta_set(struct meta *m, const char *key, const char *value);

/* The value, or NULL. Valid until the key is set again. */
const char *meta_get(const struct meta *m, const char *key);
/* The value as a number (decimal or 0x…), or `otherwise`. */
uint64_t meta_get_u64(const struct meta *m, const char *key, uint64_t otherwise);

/* Append one line. */
void meta_put(struct buf *out, const char *key, const char *value);
void meta_put_u64(struct buf *out, const char *key, uint64_t value);

/* Set the keys of all lines in data, which are written as by meta_put(). */
int meta_parse(struct meta *m, const void *data, size_t len, struct error *err);

#endif
