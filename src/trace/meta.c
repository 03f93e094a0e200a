/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "meta.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"

void meta_deinit(struct meta *m)
{
	for (size_t i = 0; i < meta_count(m); i++)
		free(m->values[i]);
	free(m->values);
	name_table_deinit(&m->keys);
	*m = (struct meta){ 0 };
}

void meta_set(struct meta *m, const char *key, const char *value)
{
	size_t before = meta_count(m);
	uint32_t i = name_table_put(&m->keys, key, strlen(key));

	if (i < before) {
		free(m->values[i]);
	} else {
		m->values = array_grow(m->values, i, &m->cap, sizeof *m->values);
	}
	m->values[i] = xstrdup(value);
}

const char *meta_get(const struct meta *m, const char *key)
{
	uint32_t i;

	return name_table_find(&m->keys, key, strlen(key), &i) ? m->values[i] : NULL;
}

uint64_t meta_get_u64(const struct meta *m, const char *key, uint64_t otherwise)
{
	const char *value = meta_get(m, key);

	return value ? strtoull(value, NULL, 0) : otherwise;
}

void meta_put(struct buf *out, const char *key, const char *value)
{
	buf_printf(out, "%s=", key);
	for (const char *p = value; *p; p++) {
		if ((unsigned char)*p < 0x20 || *p == '\\' || *p == 0x7f)
			buf_printf(out, "\\x%02x", (unsigned char)*p);
		else
			buf_put_u8(out, (uint8_t)*p);
	}
	buf_put_u8(out, '\n');
}

void meta_put_u64(struct buf *out, const char *key, uint64_t value)
{
	buf_printf(out, "%s=%" PRIu64 "\n", key, value);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static char *unescape(const char *s, size_t n)
{
	char *out = xmalloc(n + 1), *p = out;
	const char *end = s + n;

	while (s < end) {
		int high = end - s >= 4 && s[0] == '\\' && s[1] == 'x' ? hex_digit(s[2]) : -1;
		int low = high >= 0 ? hex_digit(s[3]) : -1;

		if (low >= 0 && (high | low)) {
			*p++ = (char)(high << 4 | low);
			s += 4;
		} else {
			*p++ = *s++;
		}
	}
	*p = '\0';
	return out;
}

int meta_parse(struct meta *m, const void *data, size_t len, struct error *err)
{
	const char *p = data, *end = p + len;

	if (memchr(data, 0, len))
		return error_set(err, "damaged description: has a NUL byte");
	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		const char *eq = nl ? memchr(p, '=', (size_t)(nl - p)) : NULL;
		cleanup_free char *key = NULL, *value = NULL;

		if (!eq)
			return error_set(err, "damaged description: a line is not key=value");
		key = xstrndup(p, (size_t)(eq - p));
		value = unescape(eq + 1, (size_t)(nl - eq - 1));
		meta_set(m, key, value);
		p = nl + 1;
	}
	return 0;
}
