/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All sites of a trace by number. Blocks never move, so one thread may add
 * while others look at sites whose numbers they were given.
 */
#ifndef UPTO_TRACE_SITES_H
#define UPTO_TRACE_SITES_H

#include <stdlib.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/error.h"
#include "event.h"

enum {
	SITE_BLOCK = 4096,
	SITES_MAX = 1 << 24, /* what 24 bits of a record can name */
};

struct sites {
	struct site *blocks[SITES_MAX / SITE_BLOCK];
	uint32_t count; /* numbers below this are there */
};

/* Number 0 … SITE_FIRST - 1 are made at once, for the siteless kinds. */
void sites_init(struct sites *s);
void sites_deinit(struct sites *s);

/* The new site's number, or 0 when there is no room for more. */
uint32_t sites_add(struct sites *s, const struct site *site);

static inline const struct site *sites_get(const struct sites *s, uint32_t i)
{
	return &s->blocks[i / SITE_BLOCK][i % SITE_BLOCK];
}

/* The form of sites [from, to) in a trace (docs/format.md, chunk SITES). */
void sites_encode(const struct sites *s, uint32_t from, uint32_t to, struct buf *out);
int sites_decode(struct cursor *in, struct sites *s, struct error *err);

#endif
