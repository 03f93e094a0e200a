/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "json.h"

/* Length of the UTF-8 sequence that begins here, or 0. */
static int utf8_length(const unsigned char *p)
{
	int n = p[0] < 0x80 ? 1 : p[0] >= 0xc2 && p[0] < 0xe0 ? 2 : p[0] >= 0xe0 && p[0] < 0xf0 ? 3 :
		p[0] >= 0xf0 && p[0] < 0xf5 ? 4 : 0;

	for (int i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return n;
}

void json_string(FILE *out, const char *text)
{
	putc('"', out);
	for (const unsigned char *p = (const unsigned char *)text; *p;) {
		int n = utf8_length(p);

		if (!n) {
			fputs("\\ufffd", out);
			n = 1;
		} else if (*p < 0x20 || *p == 0x7f) {
			fprintf(out, "\\u%04x", *p);
		} else {
			if (*p == '"' || *p == '\\')
				putc('\\', out);
			fwrite(p, 1, (size_t)n, out);
		}
		p += n;
	}
	putc('"', out);
}
