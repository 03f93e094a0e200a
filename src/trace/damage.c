/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "damage.h"

#include "base/alloc.h"

/* What is missing of a vCPU up to here. */
struct lane {
	uint64_t missing;
	size_t damage;     /* its number + 1, while no chunk has followed it; 0: there is none */
};

static bool is_whole(const struct reader *r, size_t i, ZSTD_DCtx *zstd, struct buf *packed, struct buf *data)
{
	struct error ignored;

	return reader_chunk(r, i, zstd, packed, data, &ignored) == 0;
}

static void take_out(struct reader *r, const struct chunk *c, struct lane *lane)
{
	struct damage *d;

	if (!lane->damage) {
		r->damages = array_grow(r->damages, r->n_damages, &r->damages_cap, sizeof *r->damages);
		r->damages[r->n_damages++] = (struct damage){
			.type = CHUNK_EVENTS, .offset = c->offset, .from_ns = c->header.first_ns,
			.cpu = c->header.cpu,
		};
		lane->damage = r->n_damages;
	}
	d = &r->damages[lane->damage - 1];
	d->chunks++;
	d->events += c->header.events;
	d->to_ns = c->header.last_ns;
	lane->missing += c->header.events;
}

/* What is in such a chunk stands for itself. */
static void take_out_beside(struct reader *r, const struct chunk *c)
{
	r->damages = array_grow(r->damages, r->n_damages, &r->damages_cap, sizeof *r->damages);
	r->damages[r->n_damages++] =
		(struct damage){ .type = (enum chunk_type)c->header.type, .chunks = 1, .offset = c->offset };
}

/* The first chunk behind what is missing: it begins with a GAP, and, if its vCPU is halted, a HALT. */
static void go_on(struct chunk *c, struct lane *lane)
{
	if (lane->missing) {
		c->missing = lane->missing;
		c->halted = c->header.flags & CHUNK_HALTED;
		c->header.flags = (c->header.flags & ~(uint32_t)CHUNK_HALTED) | CHUNK_GAP;
		c->header.events += c->halted ? 2 : 1;
	}
	*lane = (struct lane){ 0 };
}

void damage_take_out(struct reader *r)
{
	struct lane *lanes = xcalloc(CPUS_MAX, sizeof *lanes);
	ZSTD_DCtx *zstd = ZSTD_createDCtx();
	struct buf packed = { 0 }, data = { 0 };
	size_t kept = 0;

	/* numbers of chunks change only where they have been looked at */
	for (size_t i = 0; i < r->n_chunks; i++) {
		struct chunk c = r->chunks[i];
		struct lane *lane = &lanes[c.header.cpu];

		if (c.header.type == CHUNK_EVENTS) {
			if ((lane->damage && c.header.flags & CHUNK_CONTINUES) ||
			    !is_whole(r, i, zstd, &packed, &data)) {
				take_out(r, &c, lane);
				r->n_event_chunks--;
				continue;
			}
			go_on(&c, lane);
		} else if ((c.header.type == CHUNK_FACTS || c.header.type == CHUNK_TEXTS) &&
			   !is_whole(r, i, zstd, &packed, &data)) {
			take_out_beside(r, &c);
			continue;
		}
		c.header.number = kept;
		r->chunks[kept++] = c;
	}
	r->n_chunks = kept;
	for (size_t i = 0; i < CPUS_MAX; i++)
		if (lanes[i].damage)
			r->damages[lanes[i].damage - 1].at_end = true;
	free(lanes);
	ZSTD_freeDCtx(zstd);
	buf_free(&packed);
	buf_free(&data);
}

const char *damage_of(const struct damage *d)
{
	return d->type == CHUNK_EVENTS  ? "events"
	       : d->type == CHUNK_FACTS ? "facts (lines of the log, wake-ups, files, trace events …)"
					: "texts that system calls were given";
}

#define OWN_NUMBERS (UINT64_C(1) << 32) /* the recorder's are below */

bool damage_made_gap(const uint64_t args[GAP_ARGS])
{
	return args[GAP_NUMBER] >= OWN_NUMBERS;
}

void damage_gap(const struct reader *r, size_t chunk, uint64_t args[GAP_ARGS])
{
	const struct chunk *c = &r->chunks[chunk];

	args[GAP_LOST] = c->missing;
	args[GAP_REASON] = GAP_IS_LOST;
	args[GAP_NUMBER] = OWN_NUMBERS + chunk;
	args[GAP_PLACE] = c->header.place;
	args[GAP_TASK] = c->header.task;
}
