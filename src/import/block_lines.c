/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "block_lines.h"

#include <inttypes.h>
#include <string.h>

#include "kfi/words.h"

enum { DIGITS_MAX = 16 };
#define US_MAX ((uint64_t)INT64_MAX / 1000)

static inline bool is_digit(char c)
{
	return (unsigned char)(c - '0') < 10;
}

/* "11409434.8589973" in nanoseconds; what is below a nanosecond is cut off. Returns where it ends, or NULL. */
static inline const char *read_time(const char *p, const char *end, uint64_t *ret_ns)
{
	const char *start = p;
	uint64_t us = 0, ns = 0, unit = 100;

	for (; p < end && is_digit(*p); p++)
		us = us * 10 + (uint64_t)(*p - '0');
	if (p == start || p - start > DIGITS_MAX || us >= US_MAX)
		return NULL;
	if (p < end && *p == '.') {
		start = ++p;
		for (; p < end && is_digit(*p); p++, unit /= 10)
			ns += (uint64_t)(*p - '0') * unit;
		if (p == start)
			return NULL;
	}
	*ret_ns = us * 1000 + ns;
	return p < end && is_blank(*p) ? p : NULL;
}

static __attribute__((noinline, cold)) int wrong(const struct block_lines *b, struct error *err, const char *line,
						 const char *end, const char *expected)
{
	struct word shown = { line, (size_t)(end - line) };

	return error_set(err, "%s:%" PRIu64 ": '%.*s': expected %s", b->path, b->line, WORD_SHOWN(shown), expected);
}

static __attribute__((noinline, cold)) int goes_back(const struct block_lines *b, struct error *err, uint64_t ns)
{
	return error_set(err, "%s:%" PRIu64 ": %" PRIu64 ".%03" PRIu64 " behind %" PRIu64 ".%03" PRIu64
			 ": expected lines in the order of time",
			 b->path, b->line, ns / 1000, ns % 1000, b->ns / 1000, b->ns % 1000);
}

/* Returns 1, 0 for a line that is empty, or -1. */
static inline int read_line(struct block_lines *b, const char *line, const char *end, struct block *ret,
			    struct error *err)
{
	const char *p, *expected = NULL;

	b->line++;
	while (end > line && is_blank(end[-1]))
		end--;
	if (line == end)
		return 0;
	if (__builtin_expect(end - line > BLOCK_LINE_MAX, 0))
		return wrong(b, err, line, end, "a line of not more than 4096 bytes");
	p = read_time(line, end, &ret->ns);
	if (__builtin_expect(!p, 0))
		return wrong(b, err, line, end, "a time in microseconds, then where control was");
	if (__builtin_expect(ret->ns < b->ns, 0))
		return goes_back(b, err, ret->ns);
	b->ns = ret->ns;
	while (is_blank(*p))
		p++;
	ret->place = block_places_find(&b->places, p, (size_t)(end - p), &expected);
	if (__builtin_expect(!ret->place, 0))
		return wrong(b, err, p, end, expected);
	return 1;
}

int block_lines_next(struct block_lines *b, const char **at, const char *end, bool last, struct block *ret,
		     struct error *err)
{
	int r = 0;

	while (r == 0 && *at < end) {
		const char *line = *at, *stop = memchr(line, '\n', (size_t)(end - line));

		if (!stop && !last && end - line <= 2 * BLOCK_LINE_MAX)
			return 0;
		*at = stop ? stop + 1 : end;
		r = read_line(b, line, stop ? stop : end, ret, err);
	}
	return r;
}

bool block_lines_are_those(const char *data, size_t len)
{
	const char *end = data + len, *stop;
	struct word words[2];
	size_t i = 0;

	while (data < end && is_blank(*data))
		data++;
	if (data == end)
		return false;
	stop = memchr(data, '\n', (size_t)(end - data));
	stop = stop ? stop : end;
	if (memmem(data, (size_t)(stop - data), " in section ", 12))
		return true;
	if (words_split(data, (size_t)(stop - data), words, 2) < 2)
		return false;
	while (i < words[0].len && (is_digit(words[0].p[i]) || words[0].p[i] == '.'))
		i++;
	return i == words[0].len && memchr(words[0].p, '.', words[0].len);
}
