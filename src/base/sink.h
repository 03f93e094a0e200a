/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where text goes that may be long: a file, a terminal, a socket. */
#ifndef UPTO_BASE_SINK_H
#define UPTO_BASE_SINK_H

#include "buf.h"
#include "error.h"

struct sink {
	/* Take all of it. Returns 0, or -1 with *err set: whoever writes then ends. */
	int (*write)(void *context, const void *data, size_t n, struct error *err);
	void *context;
};

enum { SINK_FLUSH = 1 << 16 };

/* Pass on what has come together in `text`, once that is enough for one write. */
static inline int sink_pass(const struct sink *sink, struct buf *text, struct error *err)
{
	int r = 0;

	if (text->len < SINK_FLUSH)
		return 0;
	r = sink->write(sink->context, text->data, text->len, err);
	text->len = 0;
	return r;
}

/* Pass on the rest. Frees the text. `result`: what came of it so far; if that is negative, nothing is written. */
static inline int sink_end(const struct sink *sink, struct buf *text, int result, struct error *err)
{
	if (result >= 0 && text->len)
		result = sink->write(sink->context, text->data, text->len, err);
	buf_free(text);
	return result;
}

static inline int sink_put_into_buf(void *context, const void *data, size_t n, struct error *err)
{
	(void)err;
	buf_put(context, data, n);
	return 0;
}

/* Into memory: behind what is there. */
static inline struct sink sink_into(struct buf *buf)
{
	return (struct sink){ sink_put_into_buf, buf };
}

#endif
