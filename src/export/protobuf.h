/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Protocol buffers' wire format, as far as it takes to write messages: fields with numbers, and messages in messages.
 */
#ifndef UPTO_EXPORT_PROTOBUF_H
#define UPTO_EXPORT_PROTOBUF_H

#include "base/buf.h"

enum { PROTO_VARINT = 0, PROTO_FIXED64 = 1, PROTO_BYTES = 2 };

static inline void proto_number(struct buf *out, unsigned field, uint64_t n)
{
	buf_put_varint(out, field << 3 | PROTO_VARINT);
	buf_put_varint(out, n);
}

static inline void proto_bytes(struct buf *out, unsigned field, const void *data, size_t n)
{
	buf_put_varint(out, field << 3 | PROTO_BYTES);
	buf_put_str(out, data, n);
}

/* A message in a message: what is put from here to proto_end(), which takes what this returns. */
size_t proto_begin(struct buf *out, unsigned field);
void proto_end(struct buf *out, size_t begin);

/* Text of any origin: what is no UTF-8 becomes U+FFFD, since readers refuse whole files for it. NULL: nothing. */
void proto_text(struct buf *out, unsigned field, const char *text);

#endif
