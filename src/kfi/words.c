/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "words.h"

#include <string.h>

size_t words_split(const char *line, size_t len, struct word *words, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < len && n < max;) {
		size_t start;

		for (; i < len && is_blank(line[i]); i++)
			;
		for (start = i; i < len && !is_blank(line[i]); i++)
			;
		if (i > start)
			words[n++] = (struct word){ line + start, i - start };
	}
	return n;
}

bool word_is(struct word w, const char *text)
{
	return w.len == strlen(text) && !memcmp(w.p, text, w.len);
}

bool word_number(struct word w, uint64_t max, uint64_t *ret)
{
	uint64_t value = 0;

	for (size_t i = 0; i < w.len; i++) {
		if (w.p[i] < '0' || w.p[i] > '9')
			return false;
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(w.p[i] - '0'), &value))
			return false;
	}
	if (!w.len || value > max)
		return false;
	*ret = value;
	return true;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool read_digits(struct word w, uint64_t *ret)
{
	uint64_t value = 0;

	if (!w.len || w.len > 16)
		return false;
	for (size_t i = 0; i < w.len; i++) {
		int d = digit(w.p[i]);

		if (d < 0)
			return false;
		value = value << 4 | (uint64_t)d;
	}
	*ret = value;
	return true;
}

bool word_hex(struct word w, uint64_t *ret)
{
	return w.len > 2 && w.p[0] == '0' && (w.p[1] == 'x' || w.p[1] == 'X') &&
	       read_digits((struct word){ w.p + 2, w.len - 2 }, ret);
}

bool word_address(struct word w, uint64_t *ret)
{
	return word_hex(w, ret) || ((w.len == 8 || w.len == 16) && read_digits(w, ret));
}
