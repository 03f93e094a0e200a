/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "builder.h"

#include "base/alloc.h"
#include "sites.h"

void builder_init(struct builder *b, const struct sites *sites, const struct builder_sink *sink)
{
	*b = (struct builder){ .sites = sites, .sink = *sink, .sites_written = SITE_FIRST };
}

void builder_deinit(struct builder *b)
{
	for (unsigned i = 0; i < CPUS_MAX; i++) {
		if (b->encoders[i])
			encoder_deinit(b->encoders[i]);
		free(b->encoders[i]);
	}
	buf_free(&b->payload);
}

void builder_put_table(struct builder *b, enum chunk_type type, struct buf *payload, int level)
{
	if (payload->len)
		b->sink.put(b->sink.context, &(struct chunk_header){ .type = type }, payload, level);
}

void builder_copy_table(struct builder *b, const struct chunk_header *header, const struct buf *packed,
			struct buf *payload)
{
	if (b->sink.put_packed)
		b->sink.put_packed(b->sink.context,
				   &(struct chunk_header){ .type = header->type, .unpacked = header->unpacked },
				   packed);
	else
		builder_put_table(b, header->type, payload, BUILDER_TABLES_LEVEL);
}

struct encoder *builder_encoder(struct builder *b, unsigned cpu)
{
	struct encoder *enc = b->encoders[cpu];

	if (!enc) {
		enc = b->encoders[cpu] = xcalloc(1, sizeof *enc);
		encoder_init(enc, b->sites);
		encoder_begin(enc, &(struct cpu_state){ 0 });
	}
	return enc;
}

static void put_sites(struct builder *b)
{
	uint32_t count = __atomic_load_n(&b->sites->count, __ATOMIC_ACQUIRE);
	struct buf payload = { 0 };

	if (count == b->sites_written || b->without_sites)
		return;
	sites_encode(b->sites, b->sites_written, count, &payload);
	builder_put_table(b, CHUNK_SITES, &payload, BUILDER_TABLES_LEVEL);
	b->sites_written = count;
	buf_free(&payload);
}

static void put_events(struct builder *b, unsigned cpu, int level)
{
	struct encoder *enc = b->encoders[cpu];
	const struct cpu_state *first = &enc->first, *now = &enc->now;
	struct chunk_header header = {
		.type = CHUNK_EVENTS,
		.cpu = (uint16_t)cpu,
		.events = (uint32_t)enc->events,
		.first_insns = first->insns,
		.last_insns = now->insns,
		.first_ns = first->ns,
		.last_ns = now->ns,
		.place = first->place,
		.space = first->space,
		.task = first->task,
		.flags = (first->halted ? CHUNK_HALTED : 0) | (enc->continues ? CHUNK_CONTINUES : 0) |
			 (b->gap[cpu] ? CHUNK_GAP : 0),
	};

	put_sites(b);
	b->events += enc->events;
	b->payload.len = 0;
	encoder_end(enc, &b->payload);
	b->sink.put(b->sink.context, &header, &b->payload, level);
	b->gap[cpu] = false;
}

void builder_end_chunk(struct builder *b, unsigned cpu, int level)
{
	struct encoder *enc = builder_encoder(b, cpu);
	struct cpu_state state = enc->now;

	if (!enc->events)
		return;
	put_events(b, cpu, level);
	if (b->apart)
		encoder_begin_anew(enc, &state);
	else
		encoder_begin(enc, &state);
}

uint64_t builder_finish(struct builder *b, unsigned cpu)
{
	struct encoder *enc = b->encoders[cpu];

	if (!enc) /* it takes some megabytes */
		return 0;
	encoder_flush(enc);
	builder_end_chunk(b, cpu, 0);
	return enc->now.insns;
}

void builder_put_gap(struct builder *b, unsigned cpu, const struct cpu_state *state, enum gap_reason reason,
		     uint64_t number, uint64_t lost)
{
	struct encoder *enc = builder_encoder(b, cpu);
	struct cpu_state awake = *state;
	const uint64_t args[GAP_ARGS] = {
		[GAP_LOST] = lost,          [GAP_REASON] = reason,    [GAP_NUMBER] = number,
		[GAP_PLACE] = state->place, [GAP_TASK] = state->task,
	};

	encoder_flush(enc);
	builder_end_chunk(b, cpu, 0);
	awake.halted = false; /* the HALT tells */
	encoder_begin_anew(enc, &awake);
	b->gap[cpu] = true;
	*encoder_next(enc) = (struct event){
		.kind = EVENT_GAP, .site = EVENT_GAP, .insns = state->insns, .args = args,
	};
	encoder_added(enc);
	if (state->halted) {
		*encoder_next(enc) = (struct event){
			.kind = EVENT_HALT, .site = EVENT_HALT, .insns = state->insns, .ns = state->ns,
		};
		encoder_added(enc);
	}
	encoder_flush(enc);
}
