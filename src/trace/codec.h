/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events of one vCPU to the bytes of a chunk and back. An event costs one byte
 * that says which of its fields were not what the model expected, and a varint
 * for each of those; where all is as expected that byte is 0, and rows of
 * zeros are what zstd compresses best.
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
	MISS_PHRASE = 128, /* of a call: which phrase follows is not as the last time */
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
enum { UNIT_EVENTS = 6 << 20 };

struct encoder {
	struct model model;
	const struct sites *sites;
	struct buf streams[CODEC_STREAMS];
	uint64_t events;             /* of the chunk */
	uint64_t unit;               /* and of those before it that its model has seen */
	bool continues;              /* the chunk's model is not a new one */
	struct cpu_state first, now; /* at the chunk's begin, and after the last event */
	struct open_calls open;
	size_t filled, done;         /* of the window: events that are there, and that are encoded */
	struct event window[WINDOW_EVENTS];
};

void encoder_init(struct encoder *enc, const struct sites *sites);
void encoder_deinit(struct encoder *enc);

/* Begin a chunk, with the state before its first event. The model goes on until it has seen enough. */
void encoder_begin(struct encoder *enc, const struct cpu_state *state);

/* Encode what was added; what their args point to is needed no more. */
void encoder_flush(struct encoder *enc);

/* Where the next event is to be written; encoder_added() takes it in. */
static inline struct event *encoder_next(struct encoder *enc)
{
	return &enc->window[enc->filled];
}

static inline void encoder_added(struct encoder *enc)
{
	const struct event *e = &enc->window[enc->filled++];

	if (enc->filled == WINDOW_EVENTS || event_has_clock(e->kind))
		encoder_flush(enc);
}

/* The chunk's payload, before compression, is appended to *out. All must be flushed. */
void encoder_end(struct encoder *enc, struct buf *out);

/* Bytes that encoder_end() would give. */
size_t encoder_size(const struct encoder *enc);

struct decoder {
	struct model model;
	const struct sites *sites;
	struct cursor streams[CODEC_STREAMS];
	struct open_calls open;
	uint16_t batch;        /* a number for the one being filled */
	struct timebase clock; /* the last one that was decoded, or the chunk's begin */
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
	BATCH_ARGS = 2 * BATCH_EVENTS + EVENT_ARGS, /* those without a clock have at most two */
};

/* A phrase in a batch. */
struct phrase_use {
	uint16_t call;   /* which event: there is room for the phrase's behind it */
	uint16_t phrase; /* its place */
	bool written;    /* those events are there */
};

/*
 * Up to BATCH_EVENTS events; a batch ends with the first event that carries a
 * clock, if one comes before that, as a window does. What is in phrases is
 * written only when it is asked for; but the last event always is.
 */
struct batch {
	bool clocked;             /* the last event carries a clock */
	struct timebase timebase; /* of all events but that one */
	size_t count, n_args;
	struct event events[BATCH_EVENTS];
	uint64_t args[BATCH_ARGS];
	const struct phrases *phrases; /* the decoder's, until it goes on */
	size_t n_uses;
	struct phrase_use uses[BATCH_EVENTS / 2];
};

/* Fill the batch; count is 0 at the end of the chunk. Times of events without a clock are not filled in. */
int decoder_next(struct decoder *dec, struct batch *batch, struct error *err);

/* Write a phrase's events, or all phrases'. */
void batch_write_phrase(struct batch *batch, struct phrase_use *use);
void batch_write_phrases(struct batch *batch);

/*
 * Write all phrases' events, and give every event its time, between the clock
 * before and the one that ends the batch. Where none does, all have that of the
 * clock before.
 */
void batch_complete(struct batch *batch);

#endif
