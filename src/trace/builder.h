/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes the chunks of a trace: each vCPU's events are encoded, and the sites that they need go before them. Where the
 * chunks go is the sink's: the recorder's packing thread, or a file.
 */
#ifndef UPTO_TRACE_BUILDER_H
#define UPTO_TRACE_BUILDER_H

#include "codec.h"
#include "format.h"

struct builder_sink {
	/*
	 * May take over the payload's memory, and then leaves none in *payload, or other one for the next. What it
	 * cannot write it keeps in mind itself. `level` is zstd's; 0: its choice.
	 */
	void (*put)(void *context, const struct chunk_header *header, struct buf *payload, int level);
	/*
	 * A chunk as another trace has it, packed; the caller keeps the memory. NULL: such a chunk comes by put(), to
	 * be packed anew.
	 */
	void (*put_packed)(void *context, const struct chunk_header *header, const struct buf *packed);
	void *context;
};

struct builder {
	const struct sites *sites;   /* the caller's; more may come meanwhile */
	struct builder_sink sink;
	uint32_t sites_written;
	bool without_sites;          /* another builder writes them to the same file */
	uint64_t events;             /* in chunks so far */
	struct encoder *encoders[CPUS_MAX]; /* NULL: the vCPU has none yet */
	bool apart;                  /* each chunk of events can be decoded without the one before it */
	bool gap[CPUS_MAX];          /* the vCPU's chunk begins with a gap */
	struct buf payload;          /* memory for the next chunk of events */
};

enum { BUILDER_TABLES_LEVEL = 9 };

void builder_init(struct builder *b, const struct sites *sites, const struct builder_sink *sink);
void builder_deinit(struct builder *b);

/* A chunk that is no chunk of events. Nothing is done if the payload is empty. */
void builder_put_table(struct builder *b, enum chunk_type type, struct buf *payload, int level);

/* The same of another trace's chunk: `packed` is what reader_chunk() unpacked the payload from. */
void builder_copy_table(struct builder *b, const struct chunk_header *header, const struct buf *packed,
			struct buf *payload);

/* The vCPU's encoder, for encoder_next() and encoder_added(). */
struct encoder *builder_encoder(struct builder *b, unsigned cpu);

/* End the vCPU's chunk, if it has events, and begin the next. */
void builder_end_chunk(struct builder *b, unsigned cpu, int level);

/* Write what is left of the vCPU's events. Returns its counter at the last; 0: it had none at all. */
uint64_t builder_finish(struct builder *b, unsigned cpu);

/*
 * The vCPU's events up to that state are not here: begin a chunk with a GAP, and if the vCPU is halted then, with a
 * HALT.
 */
void builder_put_gap(struct builder *b, unsigned cpu, const struct cpu_state *state, enum gap_reason reason,
		     uint64_t number, uint64_t lost);

#endif
