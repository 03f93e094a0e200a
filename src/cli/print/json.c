/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "json.h"

#include <inttypes.h>

#include "utf8.h"

void json_put_string(struct buf *out, const char *text)
{
	buf_put_u8(out, '"');
	while (*text) {
		uint32_t c = 0;
		unsigned n = utf8_decode(text, &c);

		if (!n)
			buf_printf(out, "\\ufffd");
		else if (c < 0x20 || c == 0x7f)
			buf_printf(out, "\\u%04x", (unsigned)c);
		else if (c == '"' || c == '\\')
			buf_printf(out, "\\%c", (char)c);
		else
			buf_put(out, text, n);
		text += n ? n : 1;
	}
	buf_put_u8(out, '"');
}

void json_string(FILE *out, const char *text)
{
	struct buf quoted = { 0 };

	json_put_string(&quoted, text);
	fwrite(quoted.data, 1, quoted.len, out);
	buf_free(&quoted);
}

void json_address(FILE *out, uint64_t addr)
{
	fprintf(out, "\"0x%" PRIx64 "\"", addr);
}
