/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hold.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "trace/builder.h"
#include "trace/sites.h"

/* A chunk that is kept. */
struct held {
	struct chunk_header header;
	struct buf packed;
};

static struct {
	uint64_t ns;          /* how long chunks are kept; 0: nothing is held */
	bool holds;           /* from any thread */
	struct held *list;    /* in the order in which they came */
	size_t count, cap;
	uint64_t last_ns;     /* of any chunk so far */
	bool missing[CPUS_MAX]; /* what came before the vCPU's next chunk is not in the file */
	uint64_t last_insns[CPUS_MAX]; /* of chunks that were written */
	int64_t forgotten;
	uint64_t lost;
} hold;

void hold_begin(uint64_t ns)
{
	hold.ns = ns;
	hold.holds = true;
}

void hold_release(void)
{
	__atomic_store_n(&hold.holds, false, __ATOMIC_RELEASE);
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
		.insns = next->first_insns, .ns = next->first_ns, .place = next->place, .space = next->space, .task = next->task,
		.halted = next->flags & CHUNK_HALTED,
	};

	sites_init(&sites); /* a gap needs none */
	builder_init(builder, &sites, &(struct builder_sink){ .put = put_gap_chunk, .context = &gap });
	builder_put_gap(builder, next->cpu, &state, GAP_NOT_ASKED, 1, 0);
	builder_end_chunk(builder, next->cpu, 1);
	builder_deinit(builder);
	sites_deinit(&sites);
	free(builder);
	return gap.result;
}

static void write_chunk(struct writer *w, const struct chunk_header *header, struct buf *packed)
{
	int result = 0;

	if (hold.missing[header->cpu])
		result = put_gap(w, header);
	hold.missing[header->cpu] = false;
	if (result == 0)
		result = writer_put_packed(w, header, packed);
	if (result == 0)
		hold.last_insns[header->cpu] = header->last_insns;
	else
		__atomic_fetch_add(&hold.lost, header->events, __ATOMIC_RELAXED);
}

/* Each vCPU's chunks are forgotten from its first one on, since their times only rise. */
static void forget_old(void)
{
	size_t kept = 0;

	for (size_t i = 0; i < hold.count; i++) {
		struct held *h = &hold.list[i];

		if (h->header.last_ns + hold.ns < hold.last_ns) {
			forget((int64_t)h->header.events);
			hold.missing[h->header.cpu] = true;
			buf_free(&h->packed);
		} else {
			hold.list[kept++] = *h;
		}
	}
	hold.count = kept;
}

static void keep(const struct chunk_header *header, struct buf *packed)
{
	hold.list = array_grow(hold.list, hold.count, &hold.cap, sizeof *hold.list);
	hold.list[hold.count++] = (struct held){ .header = *header, .packed = *packed };
	*packed = (struct buf){ 0 };
	if (header->last_ns > hold.last_ns)
		hold.last_ns = header->last_ns;
}

/* Those that are kept, in their order. */
static void release(struct writer *w)
{
	for (size_t i = 0; i < hold.count; i++) {
		write_chunk(w, &hold.list[i].header, &hold.list[i].packed);
		buf_free(&hold.list[i].packed);
	}
	hold.count = 0;
}

int hold_chunk(struct writer *w, const struct chunk_header *header, const struct buf *payload, int level)
{
	bool holds = __atomic_load_n(&hold.holds, __ATOMIC_ACQUIRE);
	struct chunk_header h = *header;
	struct buf packed = { 0 };
	int result;

	if (!hold.ns || header->type != CHUNK_EVENTS)
		return writer_put(w, header, payload, level);
	result = writer_pack(w, &h, payload, level, &packed);
	if (result < 0)
		return result;
	if (holds) {
		forget_old();
		keep(&h, &packed);
	} else {
		release(w);
		write_chunk(w, &h, &packed);
	}
	buf_free(&packed);
	return 0;
}

void hold_end(struct writer *w)
{
	if (!__atomic_load_n(&hold.holds, __ATOMIC_ACQUIRE))
		release(w);
	for (size_t i = 0; i < hold.count; i++) {
		forget((int64_t)hold.list[i].header.events);
		buf_free(&hold.list[i].packed);
	}
	free(hold.list);
	hold.list = NULL;
	hold.count = hold.cap = 0;
}

void hold_last_insns(unsigned cpu, uint64_t *insns)
{
	if (hold.ns)
		*insns = hold.last_insns[cpu];
}
