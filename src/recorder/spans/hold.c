/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hold.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "forgotten.h"
#include "trace/builder.h"

/* A chunk that is kept. */
struct held {
	struct chunk_header header;
	struct buf packed;
};

/* By how much other vCPUs' chunks may come before those in which a start is found. */
enum { SLACK_NS = 50000000 };

/*
 * By how much a vCPU's next chunk may begin before what other vCPUs' last ones end with: chunks that nothing ends do so
 * after a while.
 */
enum { LATE_NS = 1500000000 };

static struct {
	uint64_t ns;          /* how long chunks are kept; 0: nothing is held */
	bool again;           /* what is written may be followed by what is held again */
	bool holds;           /* from any thread … */
	uint64_t from_ns;     /* … what begins then, or later */
	uint64_t asked, done; /* how often to write what is kept, and how often that was done */
	struct held *list;    /* in the order in which they came */
	size_t count, cap;
	uint64_t last_ns;     /* of any chunk so far … */
	uint64_t last_of[CPUS_MAX]; /* … and of the vCPU's */
	unsigned n_cpus;      /* that had any: their numbers are below this */
	bool missing[CPUS_MAX]; /* what came before the vCPU's next chunk of events is not in the file */
	uint64_t gaps;        /* number of the last gap … */
	bool gap_begins;      /* … and of those since, which begin together, it is the next */
	uint64_t last_insns[CPUS_MAX]; /* of chunks that were written */
	int64_t forgotten;
	uint64_t lost;
} hold;

void hold_begin(uint64_t ns, const struct sites *sites, bool again)
{
	forgotten_begin(sites);
	hold.ns = ns + SLACK_NS;
	hold.again = again;
	hold.holds = true;
}

void hold_release(void)
{
	/* in this order: whoever sees that nothing is held any more writes first what was */
	__atomic_fetch_add(&hold.asked, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&hold.holds, false, __ATOMIC_RELEASE);
}

void hold_again(uint64_t ns)
{
	__atomic_store_n(&hold.from_ns, ns, __ATOMIC_RELAXED);
	__atomic_store_n(&hold.holds, true, __ATOMIC_RELEASE);
}

bool hold_holds(void)
{
	return __atomic_load_n(&hold.holds, __ATOMIC_ACQUIRE);
}

int64_t hold_forgotten(void)
{
	return __atomic_load_n(&hold.forgotten, __ATOMIC_RELAXED);
}

uint64_t hold_lost(void)
{
	return __atomic_load_n(&hold.lost, __ATOMIC_RELAXED);
}

static void forget(int64_t events)
{
	__atomic_fetch_add(&hold.forgotten, events, __ATOMIC_RELAXED);
}

struct gap {
	struct writer *writer;
	int result;
};

static void put_gap_chunk(void *context, const struct chunk_header *header, struct buf *payload, int level)
{
	struct gap *gap = context;

	forget(-(int64_t)header->events);
	gap->result = writer_put(gap->writer, header, payload, level);
	buf_free(payload);
}

/* A chunk of nothing but a gap, up to where the vCPU's next chunk begins. */
static int put_gap(struct writer *w, const struct chunk_header *next)
{
	struct gap gap = { .writer = w };
	struct builder *builder = xcalloc(1, sizeof *builder);
	struct sites sites;
	struct cpu_state state = {
		.insns = next->first_insns, .ns = next->first_ns, .place = next->place, .space = next->space,
		.task = next->task,
		.halted = next->flags & CHUNK_HALTED,
	};

	hold.gaps += hold.gap_begins;
	hold.gap_begins = false;
	sites_init(&sites); /* a gap needs none */
	builder_init(builder, &sites, &(struct builder_sink){ .put = put_gap_chunk, .context = &gap });
	builder_put_gap(builder, next->cpu, &state, GAP_NOT_ASKED, hold.gaps, 0);
	builder_end_chunk(builder, next->cpu, 1);
	builder_deinit(builder);
	sites_deinit(&sites);
	free(builder);
	return gap.result;
}

static int write_events(struct writer *w, const struct chunk_header *header, struct buf *packed)
{
	int result = 0;

	if (hold.missing[header->cpu])
		result = put_gap(w, header);
	hold.missing[header->cpu] = false;
	if (result == 0)
		result = writer_put_packed(w, header, packed);
	if (result == 0)
		hold.last_insns[header->cpu] = header->last_insns;
	return result;
}

static void write_chunk(struct writer *w, const struct chunk_header *header, struct buf *packed)
{
	struct chunk_header table = *header;

	table.first_ns = table.last_ns = 0;
	if (header->type != CHUNK_EVENTS)
		writer_put_packed(w, &table, packed);
	else if (write_events(w, header, packed) < 0)
		__atomic_fetch_add(&hold.lost, header->events, __ATOMIC_RELAXED);
}

static void forget_chunk(struct held *h)
{
	const struct chunk_header *header = &h->header;

	if (header->type == CHUNK_FACTS)
		forgotten_facts(header, &h->packed);
	if (header->type != CHUNK_EVENTS) {
		buf_free(&h->packed);
		return;
	}
	forget((int64_t)header->events);
	hold.missing[header->cpu] = hold.gap_begins = true;
	forgotten_add(header, &h->packed, false);
}

/* It is in the file. What threads are in the middle of behind it is asked for if something is forgotten later. */
static void pass_written(const struct chunk_header *header, struct buf *packed)
{
	if (hold.again && header->type == CHUNK_EVENTS)
		forgotten_add(header, packed, true);
	else
		buf_free(packed);
}

/*
 * No vCPU will forget anything that is older: what it keeps is not, nor what is yet to come of one that keeps nothing.
 */
static uint64_t forgotten_up_to(void)
{
	uint64_t first[CPUS_MAX] = { 0 }, least = UINT64_MAX;

	for (size_t i = hold.count; i-- > 0;)
		if (hold.list[i].header.type == CHUNK_EVENTS)
			first[hold.list[i].header.cpu] = hold.list[i].header.first_ns + 1;
	for (unsigned cpu = 0; cpu < hold.n_cpus; cpu++) {
		uint64_t late = hold.last_ns > LATE_NS ? hold.last_ns - LATE_NS : 0;
		uint64_t from = first[cpu] ? first[cpu] - 1 : hold.last_of[cpu] > late ? hold.last_of[cpu] : late;

		if (from < least)
			least = from;
	}
	return least;
}

/* Each vCPU's chunks are forgotten from its first one on, since their times only rise. */
static void forget_old(void)
{
	size_t kept = 0;

	for (size_t i = 0; i < hold.count; i++) {
		struct held *h = &hold.list[i];

		if (h->header.last_ns + hold.ns < hold.last_ns) {
			forget_chunk(h);
		} else {
			hold.list[kept++] = *h;
		}
	}
	if (kept < hold.count) {
		hold.count = kept;
		forgotten_until(forgotten_up_to());
	}
}

static void keep(const struct chunk_header *header, struct buf *packed)
{
	hold.list = array_grow(hold.list, hold.count, &hold.cap, sizeof *hold.list);
	hold.list[hold.count++] = (struct held){ .header = *header, .packed = *packed };
	*packed = (struct buf){ 0 };
}

static void put_rest(void *context, const struct chunk_header *header, struct buf *payload, int level)
{
	const struct gap *rest = context;

	put_gap_chunk(context, header, payload, level);
	hold.missing[header->cpu] = false;
	if (rest->result < 0)
		__atomic_fetch_add(&hold.lost, header->events, __ATOMIC_RELAXED);
	else
		hold.last_insns[header->cpu] = header->last_insns;
}

/*
 * All vCPUs' events begin at one time in the file: the ends of chunks that have been forgotten for their most part are
 * there, too.
 */
static void write_rests(struct writer *w)
{
	struct gap rest = { .writer = w };
	const struct builder_sink sink = { .put = put_rest, .context = &rest };

	hold.gaps++;
	hold.gap_begins = false;
	for (unsigned cpu = 0; cpu < hold.n_cpus; cpu++)
		forgotten_rest(cpu, hold.gaps, &sink);
}

/* For the gaps that begin together next. */
static void tell_forgotten(struct writer *w)
{
	const struct chunk_header header = { .type = CHUNK_STACKS }, facts_header = { .type = CHUNK_FACTS };
	struct buf payload = { 0 }, facts = { 0 };

	if (!hold.gap_begins)
		return;
	forgotten_until(forgotten_up_to());
	forgotten_tell(hold.gaps + 1, &payload, &facts);
	if (payload.len)
		writer_put(w, &header, &payload, BUILDER_TABLES_LEVEL);
	if (facts.len)
		writer_put(w, &facts_header, &facts, BUILDER_TABLES_LEVEL);
	buf_free(&payload);
	buf_free(&facts);
	write_rests(w);
}

/* Those that are kept, in their order. */
static void release(struct writer *w)
{
	tell_forgotten(w);
	for (size_t i = 0; i < hold.count; i++) {
		write_chunk(w, &hold.list[i].header, &hold.list[i].packed);
		pass_written(&hold.list[i].header, &hold.list[i].packed);
	}
	hold.count = 0;
}

/* If that was asked for since it was done last. */
static void release_if_asked(struct writer *w)
{
	uint64_t asked = __atomic_load_n(&hold.asked, __ATOMIC_ACQUIRE);

	if (asked == hold.done)
		return;
	hold.done = asked;
	release(w);
}

static void look_at_kept(struct writer *w)
{
	release_if_asked(w);
	forget_old();
}

/* Does it belong to what is held? Whatever else it is, is needed for names. */
static bool is_held(const struct chunk_header *header)
{
	return hold_holds() && header->first_ns >= __atomic_load_n(&hold.from_ns, __ATOMIC_RELAXED);
}

static void look_at_times(const struct chunk_header *header)
{
	if (header->last_ns > hold.last_ns)
		hold.last_ns = header->last_ns;
	hold.last_of[header->cpu] = header->last_ns;
	if (header->cpu >= hold.n_cpus)
		hold.n_cpus = header->cpu + 1u;
}

int hold_chunk(struct writer *w, const struct chunk_header *header, const struct buf *payload, int level)
{
	struct chunk_header h = *header;
	struct buf packed = { 0 };
	bool held;
	int result;

	if (!hold.ns || (header->type != CHUNK_EVENTS && !header->last_ns))
		return writer_put(w, header, payload, level);
	result = writer_pack(w, &h, payload, level, &packed);
	if (result < 0)
		return result;
	held = is_held(&h); /* before it is looked whether to release: what is released meanwhile comes before it */
	/*
	 * it is kept before it is looked whether to release: else a release that comes in between would miss it, and
	 * no other may come
	 */
	if (held)
		keep(&h, &packed);
	/* once it is packed: what led to the start is in the file together with the start */
	if (h.type == CHUNK_EVENTS)
		look_at_kept(w);
	if (!held) {
		write_chunk(w, &h, &packed);
		pass_written(&h, &packed);
	}
	if (h.type == CHUNK_EVENTS)
		look_at_times(&h);
	if (!held && hold.again && h.type == CHUNK_EVENTS)
		forgotten_until(forgotten_up_to());
	return 0;
}

void hold_end(struct writer *w)
{
	release_if_asked(w);
	for (size_t i = 0; i < hold.count; i++)
		forget_chunk(&hold.list[i]);
	free(hold.list);
	hold.list = NULL;
	hold.count = hold.cap = 0;
	if (hold.ns)
		forgotten_end();
}

void hold_last_insns(unsigned cpu, uint64_t *insns)
{
	if (hold.ns)
		*insns = hold.last_insns[cpu];
}
