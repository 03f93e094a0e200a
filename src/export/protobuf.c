/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "protobuf.h"

#include "base/utf8.h"

/* Most messages are shorter than 128 bytes, so that their length takes one; others' bytes are moved. */
size_t proto_begin(struct buf *out, unsigned field)
{
	buf_put_varint(out, field << 3 | PROTO_BYTES);
	buf_put_u8(out, 0);
	return out->len;
}

void proto_end(struct buf *out, size_t begin)
{
	size_t n = out->len - begin;
	struct buf length = { 0 };

	if (n < 0x80) {
		out->data[begin - 1] = (uint8_t)n;
		return;
	}
	buf_put_varint(&length, n);
	buf_reserve(out, length.len);
	memmove(out->data + begin - 1 + length.len, out->data + begin, n);
	memcpy(out->data + begin - 1, length.data, length.len);
	out->len += length.len - 1;
	buf_free(&length);
}

void proto_text(struct buf *out, unsigned field, const char *text)
{
	size_t begin;
	uint32_t character;

	if (!text)
		return;
	begin = proto_begin(out, field);
	while (*text) {
		unsigned n = utf8_decode(text, &character);

		buf_put(out, n ? text : "\xef\xbf\xbd", n ? n : 3);
		text += n ? n : 1;
	}
	proto_end(out, begin);
}
