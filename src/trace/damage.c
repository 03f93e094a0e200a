/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "damage.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "codec.h"

/* What there was of a vCPU, up to a chunk. */
struct lane {
	bool is_missing;          /* events right before that chunk are */
	uint64_t missing;         /* how many of them are known; those in a hole are not */
	size_t damage;            /* its number + 1, while no chunk has followed it; 0: there is none */
	bool behind_hole;         /* chunks of it may be in a hole right before the next one */
	struct cpu_state state;   /* after the last chunk: its clocks */
	struct decoder *decoder;  /* that went through it, where sites are missing */
};

struct taking_out {
	struct reader *reader;
	ZSTD_DCtx *zstd;
	struct buf packed, data;
	struct batch *batch;
	struct lane lanes[CPUS_MAX];
};

static bool is_whole(struct taking_out *t, size_t i)
{
	struct error ignored;

	return reader_chunk(t->reader, i, t->zstd, &t->packed, &t->data, &ignored) == 0;
}

/* Are all sites of the chunk known? It was unpacked last. */
static bool has_sites(struct taking_out *t, const struct chunk *c, struct lane *lane)
{
	struct cpu_state state = { .insns = c->header.first_insns, .ns = c->header.first_ns, .space = c->header.space };
	struct error ignored;

	if (!t->batch)
		t->batch = xcalloc(1, sizeof *t->batch);
	if (!lane->decoder) {
		lane->decoder = xcalloc(1, sizeof *lane->decoder);
		decoder_init(lane->decoder, &t->reader->sites);
	}
	if (decoder_begin(lane->decoder, t->data.data, t->data.len, &state, c->header.flags & CHUNK_CONTINUES,
			  &ignored) < 0)
		return false;
	do
		if (decoder_next(lane->decoder, t->batch, &ignored) < 0)
			return false;
	while (t->batch->count);
	return true;
}

static bool can_be_had(struct taking_out *t, size_t i, struct lane *lane)
{
	const struct chunk *c = &t->reader->chunks[i];

	return !(lane->is_missing && c->header.flags & CHUNK_CONTINUES) && is_whole(t, i) &&
	       (!t->reader->sites_lost || has_sites(t, c, lane));
}

static void take_out(struct reader *r, const struct chunk *c, struct lane *lane)
{
	struct damage *d;

	if (!lane->damage) {
		d = reader_add_damage(r, CHUNK_EVENTS, c->offset);
		d->chunks = 0;
		d->from_ns = c->header.first_ns;
		d->cpu = c->header.cpu;
		lane->damage = r->n_damages;
	}
	d = &r->damages[lane->damage - 1];
	d->chunks++;
	d->events += c->header.events;
	d->to_ns = c->header.last_ns;
	lane->missing += c->header.events;
	lane->is_missing = true;
	r->n_event_chunks--;
}

/* Behind a hole: a vCPU's clocks tell whether there is something of it in there. */
static void look_back(const struct chunk *c, struct lane *lane)
{
	if (lane->behind_hole &&
	    (c->header.first_insns != lane->state.insns || c->header.first_ns != lane->state.ns))
		lane->is_missing = true;
	lane->behind_hole = false;
	lane->state = (struct cpu_state){ .insns = c->header.last_insns, .ns = c->header.last_ns };
}

/* The first chunk behind what is missing: it begins with a GAP, and, if its vCPU is halted, a HALT. */
static void go_on(struct chunk *c, struct lane *lane)
{
	if (lane->is_missing) {
		c->behind_gap = true;
		c->missing = lane->missing;
		c->halted = c->header.flags & CHUNK_HALTED;
		c->header.flags = (c->header.flags & ~(uint32_t)CHUNK_HALTED) | CHUNK_GAP;
		c->header.events += c->halted ? 2 : 1;
	}
	lane->is_missing = false;
	lane->missing = 0;
	lane->damage = 0;
}

/* Behind a hole any vCPU may lack something. */
static void go_past_hole(struct taking_out *t, struct chunk *c)
{
	for (size_t i = 0; c->behind_hole && i < CPUS_MAX; i++)
		t->lanes[i].behind_hole = true;
	c->behind_hole = false;
}

/* Those that are unpacked only when somebody asks; what is in one stands for itself. */
static bool is_beside(enum chunk_type type)
{
	return type == CHUNK_FACTS || type == CHUNK_TEXTS || type == CHUNK_SUMS || type == CHUNK_HELD;
}

/* Is it to be kept? */
static bool look_at(struct taking_out *t, size_t i, struct chunk *c)
{
	struct lane *lane = &t->lanes[c->header.cpu];

	go_past_hole(t, c);
	if (c->header.type == CHUNK_EVENTS) {
		look_back(c, lane);
		if (!can_be_had(t, i, lane)) {
			take_out(t->reader, c, lane);
			return false;
		}
		go_on(c, lane);
	} else if (is_beside(c->header.type) && !is_whole(t, i)) {
		reader_add_damage(t->reader, (enum chunk_type)c->header.type, c->offset);
		return false;
	}
	return true;
}

void damage_take_out(struct reader *r)
{
	struct taking_out *t = xcalloc(1, sizeof *t);
	size_t kept = 0;

	t->reader = r;
	t->zstd = ZSTD_createDCtx();
	/* numbers of chunks change only where they have been looked at */
	for (size_t i = 0; i < r->n_chunks; i++) {
		struct chunk c = r->chunks[i];

		if (!look_at(t, i, &c))
			continue;
		c.header.number = kept;
		r->chunks[kept++] = c;
	}
	r->n_chunks = kept;
	r->sites_lost = false; /* no event is left that has one of them */
	for (size_t i = 0; i < CPUS_MAX; i++) {
		if (t->lanes[i].damage)
			r->damages[t->lanes[i].damage - 1].at_end = true;
		if (t->lanes[i].decoder)
			decoder_deinit(t->lanes[i].decoder);
		free(t->lanes[i].decoder);
	}
	ZSTD_freeDCtx(t->zstd);
	buf_free(&t->packed);
	buf_free(&t->data);
	free(t->batch);
	free(t);
}

const char *damage_of(const struct damage *d)
{
	static const char *const what[CHUNK_TYPES] = {
		[DAMAGE_HOLE] = "of what was noted beside the events",
		[CHUNK_META] = "of what the recorder told of the machine and of its boots",
		[CHUNK_SITES] = "places of calls, and the events there,",
		[CHUNK_EVENTS] = "events",
		[CHUNK_SYMBOLS] = "names of the kernel's functions",
		[CHUNK_END] = "of the recorder's last words (how it ended, what was lost)",
		[CHUNK_TASKS] = "records of tasks (their names and pids)",
		[CHUNK_CODE] = "records of modules and of mappings",
		[CHUNK_FILES] = "names of functions of programs and libraries",
		[CHUNK_TEXTS] = "texts that system calls were given",
		[CHUNK_FACTS] = "facts (lines of the log, wake-ups, files, trace events …)",
		[CHUNK_SUMS] = "sums of calls that were left out",
		[CHUNK_HELD] = "marks of calls that are here for others' sake only",
		[CHUNK_STACKS] = "stacks of threads behind gaps",
	};

	return d->type < CHUNK_TYPES && what[d->type] ? what[d->type] : "records of a newer kind";
}

void damage_put_place(struct buf *out, const struct damage *d)
{
	if (d->offset)
		buf_printf(out, "is damaged at byte %" PRIu64, d->offset);
	else
		buf_printf(out, "is a part of a trace that is damaged");
}

void damage_put_meta(const struct reader *r, struct buf *lines)
{
	bool told[CHUNK_TYPES + 1] = { [CHUNK_EVENTS] = true }; /* gaps tell of those */
	size_t n = 0;

	for (size_t i = 0; i < r->n_damages; i++) {
		enum chunk_type type = r->damages[i].type < CHUNK_TYPES ? r->damages[i].type : CHUNK_TYPES;

		if (told[type])
			continue;
		told[type] = true;
		buf_printf(lines, n++ ? ",%d" : "damaged=%d", type);
	}
	if (n)
		buf_put_u8(lines, '\n');
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
