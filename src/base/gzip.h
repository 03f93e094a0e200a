/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A sink that packs what it gets by gzip, and passes it on. */
#ifndef UPTO_BASE_GZIP_H
#define UPTO_BASE_GZIP_H

#include <zlib.h>

#include "sink.h"

struct gzip {
	struct sink sink; /* to be written to; nothing else here is the user's */
	const struct sink *to;
	z_stream stream;
	struct buf packed;
};

/* `to` must outlive it. */
int gzip_init(struct gzip *g, const struct sink *to, struct error *err);

/* Pass on the rest, unless `result`, what came of it so far, is negative; and free what is kept. Returns the result. */
int gzip_end(struct gzip *g, int result, struct error *err);

#endif
