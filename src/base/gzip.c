/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "gzip.h"

static int pack(struct gzip *g, const void *data, size_t n, int flush, struct error *err)
{
	enum { BLOCK = 1 << 15 };
	int r = 0;

	g->stream.next_in = (void *)data;
	g->stream.avail_in = (uInt)n;
	do {
		buf_reserve(&g->packed, BLOCK);
		g->stream.next_out = g->packed.data + g->packed.len;
		g->stream.avail_out = BLOCK;
		deflate(&g->stream, flush);
		g->packed.len += BLOCK - g->stream.avail_out;
		r = sink_pass(g->to, &g->packed, err);
	} while (r == 0 && !g->stream.avail_out);
	return r;
}

static int write_packed(void *context, const void *data, size_t n, struct error *err)
{
	enum { AT_ONCE = 1 << 30 }; /* zlib counts in 32 bits */
	const uint8_t *left = data;
	int r = 0;

	for (; n && r == 0; n -= n < AT_ONCE ? n : AT_ONCE, left += AT_ONCE)
		r = pack(context, left, n < AT_ONCE ? n : AT_ONCE, Z_NO_FLUSH, err);
	return r;
}

int gzip_init(struct gzip *g, const struct sink *to, struct error *err)
{
	enum { GZIP = 16, MEMORY = 9 };

	*g = (struct gzip){ .sink = { write_packed, g }, .to = to };
	if (deflateInit2(&g->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + GZIP, MEMORY, Z_DEFAULT_STRATEGY) !=
	    Z_OK)
		return error_set(err, "gzip: cannot be started");
	return 0;
}

int gzip_end(struct gzip *g, int result, struct error *err)
{
	if (result >= 0)
		result = pack(g, NULL, 0, Z_FINISH, err);
	result = sink_end(g->to, &g->packed, result, err);
	deflateEnd(&g->stream);
	return result;
}
