/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "utf8.h"

#include <wchar.h>

unsigned utf8_decode(const char *text, uint32_t *ret)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *p = (const unsigned char *)text;
	unsigned n = p[0] < 0x80 ? 1 : p[0] >> 5 == 6 ? 2 : p[0] >> 4 == 14 ? 3 : p[0] >> 3 == 30 ? 4 : 0;
	uint32_t c = n == 1 ? p[0] : p[0] & (0x7fu >> n);

	for (unsigned i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (!n || c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	*ret = c;
	return n;
}

bool utf8_is_control(uint32_t c)
{
	/* C0, DEL, C1 */
	if (c < 0x20 || (c >= 0x7f && c < 0xa0))
		return true;
	/* line separators, and the bidirectional controls of Unicode's annex 9 */
	return c == 0x61c || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

/* Columns of the character that begins here. *len gets its length in bytes. */
static size_t width_at(const char *text, unsigned *len)
{
	uint32_t c = 0;
	int width;

	*len = utf8_decode(text, &c);
	if (!*len) {
		*len = 1;
		return 1;
	}
	width = wcwidth((wchar_t)c);
	return width < 0 ? 1 : (size_t)width;
}

size_t utf8_width(const char *text)
{
	size_t width = 0;
	unsigned len;

	for (; *text; text += len)
		width += width_at(text, &len);
	return width;
}

/* How many bytes of the text fit into so many columns. */
static size_t fitting(const char *text, size_t width)
{
	const char *p = text;
	unsigned len;

	while (*p) {
		size_t w = width_at(p, &len);

		if (w > width)
			break;
		width -= w;
		p += len;
	}
	return (size_t)(p - text);
}

void utf8_put_start(struct buf *out, const char *text, size_t width)
{
	bool cut = utf8_width(text) > width;

	buf_put(out, text, fitting(text, cut && width ? width - 1 : width));
	if (cut && width)
		buf_printf(out, "…");
}

void utf8_put_cut(struct buf *out, const char *text, size_t width)
{
	size_t all = utf8_width(text), head, tail, skip;
	unsigned len;

	if (all <= width) {
		buf_printf(out, "%s", text);
		return;
	}
	if (!width)
		return;
	/* keep the begin, two thirds of the width, and the end */
	tail = (width - 1) / 3;
	head = width - 1 - tail;
	buf_put(out, text, fitting(text, head));
	buf_printf(out, "…");
	for (skip = fitting(text, all - tail); utf8_width(text + skip) > tail; skip += len)
		width_at(text + skip, &len);
	buf_printf(out, "%s", text + skip);
}
