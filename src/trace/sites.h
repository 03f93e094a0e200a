/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All sites of a trace by number. Blocks of the table never move. So one thread may
 * add sites while other threads read sites whose numbers they got from it.
 */
#ifndef UPTO_TRACE_SITES_H
#define UPTO_TRACE_SITES_H

#include <assert.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/error.h"
#include "event.h"

enum {
	SITE_BLOCK = 4096,
	SITES_MAX = 1 << 24, /* a record of the recorder has 24 bits for the number */
};

struct sites {
	struct site *blocks[SITES_MAX / SITE_BLOCK];
	uint32_t count; /* the next site's number; all below it exist */
};

/* Make an empty table. Numbers 0 … SITE_FIRST - 1, of the kinds without a site, exist from the beginning. */
void sites_init(struct sites *s);
void sites_deinit(struct sites *s);

/* Returns the number of the new site, or 0 if the table is full. */
uint32_t sites_add(struct sites *s, const struct site *site);

static inline const struct site *sites_get(const struct sites *s, uint32_t i)
{
	return &s->blocks[i / SITE_BLOCK][i % SITE_BLOCK];
}

/* Append sites [from, to) in the form that they have in a trace (docs/format.md, chunk SITES). */
void sites_encode(const struct sites *s, uint32_t from, uint32_t to, struct buf *out);
int sites_decode(struct cursor *in, struct sites *s, struct error *err);

/* Those below number `to` are not known: they have no kind. More than a table can have is left to be refused. */
void sites_leave_out(struct sites *s, uint64_t to);

/*
 * Sites by number with their kind above it: what an event does to the place is
 * then known without waiting for the site itself to come out of memory.
 */
enum { TAGGED_BITS = 24 };
static_assert(SITES_MAX <= 1 << TAGGED_BITS, "a site's number fits below its kind");

static inline uint32_t tagged_site(uint32_t number, enum event_kind kind)
{
	return (uint32_t)kind << TAGGED_BITS | number;
}

#endif
