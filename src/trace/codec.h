/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Encodes the events of one vCPU to the bytes of a chunk, and decodes them. An
 * event costs one byte of flags, which says what the model did not expect, and a
 * varint for each such field. If everything is as expected, the byte is 0, and
 * zstd compresses rows of zeros best.
 */
#ifndef UPTO_TRACE_CODEC_H
#define UPTO_TRACE_CODEC_H

#include "base/buf.h"
#include "base/cursor.h"
#include "base/error.h"
#include "model.h"
#include "timebase.h"

enum codec_flag {
	MISS_SITE = 1,
	MISS_INSNS = 2,
	MISS_SLOT = 4,
	MISS_FROM = 8,
	MISS_TARGET = 16,
	SECOND_SITE = 32,  /* with MISS_SITE: the other one that the model knows */
	SECOND_INSNS = 64, /* likewise with MISS_INSNS */
	MISS_PHRASE = 128, /* of a call: another phrase follows than last time, or none */
};

enum codec_stream {
	STREAM_FLAGS,
	STREAM_SITES,
	STREAM_INSNS,
	STREAM_SLOTS,
	STREAM_ADDRS,
	STREAM_ARGS,
	STREAM_PHRASES,
	CODEC_STREAMS,
};

/* Where a vCPU stands between two events. */
struct cpu_state {
	uint64_t insns, ns;   /* at the last event; at the last that carries a clock */
	uint64_t place;       /* where control is: the last target */
	uint64_t space, task; /* page tables, task_struct; 0: not known */
	bool halted;
};

static inline void cpu_state_advance(struct cpu_state *s, const struct event *e)
{
	s->insns = e->insns;
	if (e->target)
		s->place = e->target;
	if (__builtin_expect(e->kind < EVENT_FIRST_SITELESS, 1)) {
		s->halted = false;
		return;
	}
	if (event_has_clock(e->kind))
		s->ns = e->ns;
	if (e->kind == EVENT_ADDRESS_SPACE)
		s->space = e->args[0];
	if (e->kind == EVENT_TASK_SWITCH)
		s->task = e->args[1];
	s->halted = e->kind == EVENT_HALT || (s->halted && e->kind == EVENT_CLOCK);
}

/* A model begins anew after this many events: units of chunks are read in parallel. */
#ifdef UPTO_SMALL_CHUNKS /* what depends on where one begins is to be seen in development */
enum { UNIT_EVENTS = 1 };
#else
enum { UNIT_EVENTS = 6 << 20 };
#endif

struct encoder {
	struct model model;
	const struct sites *sites;
	struct buf streams[CODEC_STREAMS];
	uint64_t events;             /* of the chunk */
	uint64_t unit;               /* events that the model has seen in earlier chunks */
	bool continues;              /* the chunk goes on with the model of the chunk before */
	struct cpu_state first, now; /* at the chunk's begin, and after the last event */
	struct open_calls open;
	size_t filled, done;         /* of the window: events that are there, and that are encoded */
	bool mixed;                  /* among those that are not, one has no site, and no clock that ends them */
	struct event window[WINDOW_EVENTS];
};

void encoder_init(struct encoder *enc, const struct sites *sites);
void encoder_deinit(struct encoder *enc);

/*
 * Begin a chunk, with the state before its first event. The model goes on from the chunk before, up to UNIT_EVENTS
 * events.
 */
void encoder_begin(struct encoder *enc, const struct cpu_state *state);

/* The same, with a model that knows nothing: the chunk need not be decoded after others. */
void encoder_begin_anew(struct encoder *enc, const struct cpu_state *state);

/* Encode all pending events. Afterwards the memory that their args point to may be used again. */
void encoder_flush(struct encoder *enc);

/* Room for the next event. The caller fills it in, then calls encoder_added(). */
static inline struct event *encoder_next(struct encoder *enc)
{
	return &enc->window[enc->filled];
}

static inline void encoder_added(struct encoder *enc)
{
	const struct event *e = &enc->window[enc->filled++];

	enc->mixed |= e->kind >= EVENT_FIRST_SITELESS && !event_has_clock(e->kind);
	if (enc->filled == WINDOW_EVENTS || event_has_clock(e->kind))
		encoder_flush(enc);
}

/* The same of one that has a site. */
static inline void encoder_added_sited(struct encoder *enc)
{
	if (++enc->filled == WINDOW_EVENTS)
		encoder_flush(enc);
}

/* Append the chunk's payload, not yet compressed, to *out. The caller has flushed all events. */
void encoder_end(struct encoder *enc, struct buf *out);

struct decoder {
	struct model model;
	const struct sites *sites;
	struct cursor streams[CODEC_STREAMS];
	struct open_calls open;
	uint16_t batch;        /* number of the batch that is being filled */
	struct timebase clock; /* begins at the clock decoded last, or at the chunk's begin */
	bool halted;           /* was the vCPU halted at that clock? */
};

void decoder_init(struct decoder *dec, const struct sites *sites);
void decoder_deinit(struct decoder *dec);

/*
 * Begin with a chunk's unpacked payload, which must outlive the decoding. One that
 * continues (CHUNK_CONTINUES) must be the next of its vCPU after the one just decoded.
 */
int decoder_begin(struct decoder *dec, const void *payload, size_t len, const struct cpu_state *state,
		  bool continues, struct error *err);

enum {
	BATCH_EVENTS = 4 * WINDOW_EVENTS,
	BATCH_ARGS = GAP_ARGS * BATCH_EVENTS + EVENT_ARGS, /* those without a clock have at most so many */
};

/* A phrase in a batch. */
struct phrase_use {
	uint16_t call;   /* index of the call in the batch; the phrase's events have room behind it */
	uint16_t phrase; /* place of the phrase (phrases.h) */
	bool written;    /* the phrase's events have been written there */
};

/*
 * Up to BATCH_EVENTS events. A batch ends early with the first event that carries
 * a clock. The events of a phrase are written only when somebody asks for them,
 * but the last event of the batch is always there.
 */
struct batch {
	bool clocked;             /* the last event carries a clock */
	struct timebase timebase; /* of all events but the last one, if that carries a clock */
	size_t count, n_args;
	struct event events[BATCH_EVENTS];
	uint64_t args[BATCH_ARGS];
	const struct phrases *phrases; /* the decoder's; valid until it decodes the next batch */
	size_t n_uses;
	struct phrase_use uses[BATCH_EVENTS / 2];
};

/* Fill the batch; count is 0 at the end of the chunk. Times of events without a clock are not filled in. */
int decoder_next(struct decoder *dec, struct batch *batch, struct error *err);

/* Write the events of one phrase, or of all phrases in the batch. */
void batch_write_phrase(struct batch *batch, struct phrase_use *use);
void batch_write_phrases(struct batch *batch);

/* The time of an event of a batch that is not complete. */
static inline uint64_t batch_ns(const struct batch *batch, const struct event *e)
{
	return event_has_clock(e->kind) ? e->ns : timebase_ns(&batch->timebase, e->insns);
}

/*
 * Write the events of all phrases, and set the time of every event: between the
 * clock before the batch and the clock that ends it. If no clock ends it, every
 * event has the time of the clock before.
 */
void batch_complete(struct batch *batch);

#endif
