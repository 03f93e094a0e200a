/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "codec.h"

/*
 * The functions below are inlined with a constant `kind` for the most common kinds.
 * So an event costs one switch, not one for each of its fields.
 */
#define per_kind static inline __attribute__((always_inline))

per_kind bool has_slot(enum event_kind kind)
{
	switch (kind) {
	case EVENT_CALL:
	case EVENT_CALL_INDIRECT:
	case EVENT_RETURN:
	case EVENT_INTERRUPT_RETURN:
	case EVENT_INTERRUPT:
		return true;
	default:
		return false;
	}
}

/* The `from` that the model expects for a jump or call of this kind. */
per_kind uint64_t expect_from(struct model *m, const struct site *site, enum event_kind kind)
{
	switch (kind) {
	case EVENT_CALL:
	case EVENT_CALL_INDIRECT:
		return site->addr + site->length + (uint64_t)model_expect_shift(m, site);
	case EVENT_JUMP:
	case EVENT_JUMP_INDIRECT:
	case EVENT_ARRIVE:
		return site->addr + (uint64_t)model_expect_shift(m, site);
	default:
		return 0;
	}
}

per_kind uint64_t expect_target(struct model *m, const struct way *way, const struct site *site,
				const struct event *e, enum event_kind kind)
{
	const struct memory *mem;

	switch (kind) {
	case EVENT_CALL:
		return site->target + (e->from - site->addr - site->length);
	case EVENT_JUMP:
		return site->target + (e->from - site->addr);
	case EVENT_ARRIVE:
		return e->from;
	case EVENT_RETURN:
		/* the return of a retpoline never goes back to its call */
		if (way->elsewhere)
			return model_target(m, e->site);
		mem = model_memory(m, e->slot);
		return mem->site && mem->slot == e->slot ? mem->addr : 0;
	case EVENT_CALL_INDIRECT:
	case EVENT_JUMP_INDIRECT:
	case EVENT_INTERRUPT:
	case EVENT_SYSCALL:
		return model_target(m, e->site);
	case EVENT_INTERRUPT_RETURN:
		mem = model_memory(m, e->slot);
		return mem->site && mem->slot == e->slot ? mem->addr : m->resume;
	case EVENT_SYSCALL_RETURN:
		return m->resume;
	default:
		return 0;
	}
}

void encoder_init(struct encoder *enc, const struct sites *sites)
{
	*enc = (struct encoder){ .sites = sites };
	model_init(&enc->model);
}

void encoder_deinit(struct encoder *enc)
{
	model_deinit(&enc->model);
	for (int i = 0; i < CODEC_STREAMS; i++)
		buf_free(&enc->streams[i]);
}

static void window_begin(struct encoder *enc)
{
	enc->filled = enc->done = 0;
	enc->mixed = false;
	enc->open.count = 0;
}

void encoder_begin(struct encoder *enc, const struct cpu_state *state)
{
	enc->first = enc->now = *state;
	enc->continues = enc->unit && enc->unit < UNIT_EVENTS;
	if (!enc->continues) {
		model_reset(&enc->model, state->insns, state->ns, state->space);
		enc->unit = 0;
	}
	for (int i = 0; i < CODEC_STREAMS; i++)
		enc->streams[i].len = 0;
	enc->events = 0;
	window_begin(enc);
}

void encoder_begin_anew(struct encoder *enc, const struct cpu_state *state)
{
	enc->unit = 0;
	encoder_begin(enc, state);
}

static void put_args(struct buf *args, struct model *m, const struct event *e)
{
	for (unsigned i = 0; i < event_n_args(e->kind); i++)
		buf_put_varint(args, e->args[i]);
	if (event_has_clock(e->kind)) {
		buf_put_svarint(args, (int64_t)(e->ns - m->ns));
		m->ns = e->ns;
	}
}

per_kind uint8_t encode_fields(struct buf *streams, struct model *m, const struct event *e, struct way *way,
			       const struct site *site, enum event_kind kind)
{
	uint64_t dinsns = e->insns - m->insns, expected;
	unsigned flags = 0;

	if (dinsns >= STEP_MAX || (dinsns != way->step && dinsns != way->second)) {
		flags |= MISS_INSNS;
		buf_put_varint(&streams[STREAM_INSNS], dinsns);
	} else if (dinsns != way->step) {
		flags |= MISS_INSNS | SECOND_INSNS;
	}
	if (has_slot(kind)) {
		expected = m->slot + (uint64_t)(int64_t)way->dslot;
		if (e->slot != expected) {
			flags |= MISS_SLOT;
			buf_put_svarint(&streams[STREAM_SLOTS], (int64_t)(e->slot - expected));
		}
	}
	expected = expect_from(m, site, kind);
	if (e->from != expected) {
		flags |= MISS_FROM;
		buf_put_svarint(&streams[STREAM_ADDRS], (int64_t)(e->from - expected));
	}
	expected = expect_target(m, way, site, e, kind);
	if (e->target != expected) {
		flags |= MISS_TARGET;
		buf_put_svarint(&streams[STREAM_ADDRS], (int64_t)(e->target - expected));
	}
	if (kind >= EVENT_FIRST_SITELESS || kind == EVENT_INTERRUPT_RETURN)
		put_args(&streams[STREAM_ARGS], m, e);
	model_learn(m, way, site, e, kind);
	return (uint8_t)flags;
}

per_kind void encode_follow(struct encoder *enc, struct model *m, const struct event *e, enum event_kind kind)
{
	const struct event *call = open_calls_follow(&enc->open, enc->window, e, kind);

	if (call)
		phrases_learn(m->phrases, call, e);
}

/* If a known phrase follows the call, write its number instead of its events. Returns flags. */
per_kind unsigned encode_phrase(struct encoder *enc, struct model *m, struct way *way, const struct event *call)
{
	size_t left = (size_t)(enc->window + enc->filled - call) - 1;
	unsigned likely = way->phrase, number = phrases_find(m->phrases, call, left, likely);
	unsigned count;

	if (number) {
		count = phrase_count(m->phrases, phrase_place(call->site, number));
		model_skip(m, call->site, call[count].insns);
		enc->done += count;
	} else {
		model_pushed(m, call);
		encode_follow(enc, m, call, EVENT_CALL);
	}
	if (number == likely)
		return 0;
	way->phrase = (uint8_t)number;
	buf_put_u8(&enc->streams[STREAM_PHRASES], (uint8_t)number);
	return MISS_PHRASE;
}

/* Encode the event at `done`; if it is a call with a known phrase, the phrase too. */
per_kind void encode_as(struct encoder *enc, struct model *m, struct way *way, const struct site *site, unsigned flags,
			enum event_kind kind)
{
	const struct event *e = &enc->window[enc->done++];
	struct buf *out = &enc->streams[STREAM_FLAGS];

	flags |= encode_fields(enc->streams, m, e, way, site, kind);
	if (is_call(kind))
		flags |= encode_phrase(enc, m, way, e);
	else
		encode_follow(enc, m, e, kind);
	out->data[out->len++] = (uint8_t)flags;
}

per_kind void encode_event(struct encoder *enc, struct model *m)
{
	const struct event *e = &enc->window[enc->done];
	struct context *context = model_context(m);
	struct way *way = &context->ways[0];
	const struct site *site = sites_get(enc->sites, e->site);
	uint32_t tagged = tagged_site(e->site, e->kind);
	unsigned flags = 0;

	if (tagged != way->site) {
		flags |= MISS_SITE;
		if (tagged == context->ways[1].site)
			flags |= SECOND_SITE;
		else
			buf_put_varint(&enc->streams[STREAM_SITES], e->site);
		way = context_turn(m, context, tagged);
	}
	switch (e->kind) {
	case EVENT_CALL:
		encode_as(enc, m, way, site, flags, EVENT_CALL);
		break;
	case EVENT_RETURN:
		encode_as(enc, m, way, site, flags, EVENT_RETURN);
		break;
	case EVENT_JUMP:
		encode_as(enc, m, way, site, flags, EVENT_JUMP);
		break;
	default:
		encode_as(enc, m, way, site, flags, e->kind);
		break;
	}
}

/* What cpu_state_advance() does for all that is not encoded yet: of events that have sites, the last ones tell all. */
static void advance(struct encoder *enc)
{
	const struct event *first = &enc->window[enc->done], *end = &enc->window[enc->filled], *last = end;

	if (enc->mixed) {
		for (const struct event *e = first; e < end; e++)
			cpu_state_advance(&enc->now, e);
		enc->mixed = false;
		return;
	}
	last -= last > first && last[-1].kind >= EVENT_FIRST_SITELESS;
	if (last > first) {
		enc->now.insns = last[-1].insns;
		enc->now.halted = false;
		for (const struct event *e = last; e-- > first;)
			if (e->target) {
				enc->now.place = e->target;
				break;
			}
	}
	if (last < end)
		cpu_state_advance(&enc->now, last);
}

void encoder_flush(struct encoder *enc)
{
	/* a copy that nothing points to is kept in registers */
	struct model m = enc->model;
	size_t n = enc->filled - enc->done;

	buf_reserve(&enc->streams[STREAM_FLAGS], n);
	advance(enc);
	while (enc->done < enc->filled)
		encode_event(enc, &m);
	enc->model = m;
	enc->events += n;
	enc->unit += n;
	if (n && (enc->filled == WINDOW_EVENTS || event_has_clock(enc->window[enc->filled - 1].kind)))
		window_begin(enc);
}

void encoder_end(struct encoder *enc, struct buf *out)
{
	for (int i = 0; i < CODEC_STREAMS; i++) {
		uint32_t n = (uint32_t)enc->streams[i].len;

		buf_put(out, &n, sizeof n);
	}
	for (int i = 0; i < CODEC_STREAMS; i++)
		buf_put(out, enc->streams[i].data, enc->streams[i].len);
}

void decoder_init(struct decoder *dec, const struct sites *sites)
{
	*dec = (struct decoder){ .sites = sites };
	model_init(&dec->model);
}

void decoder_deinit(struct decoder *dec)
{
	model_deinit(&dec->model);
}

int decoder_begin(struct decoder *dec, const void *payload, size_t len, const struct cpu_state *state,
		  bool continues, struct error *err)
{
	struct cursor in = cursor_over(payload, len);
	uint32_t sizes[CODEC_STREAMS];

	for (int i = 0; i < CODEC_STREAMS; i++)
		sizes[i] = cursor_u32(&in);
	for (int i = 0; i < CODEC_STREAMS; i++) {
		const void *p = cursor_take(&in, sizes[i]);

		if (!p)
			return error_set(err, "streams are longer than their chunk");
		dec->streams[i] = cursor_over(p, sizes[i]);
	}
	if (!continues)
		model_reset(&dec->model, state->insns, state->ns, state->space);
	dec->clock = timebase_from(state->insns, state->ns);
	dec->halted = state->halted;
	return 0;
}

static int get_args(struct decoder *dec, struct batch *batch, struct event *e)
{
	struct cursor *args = &dec->streams[STREAM_ARGS];
	unsigned n = event_n_args(e->kind);

	e->args = &batch->args[batch->n_args];
	for (unsigned i = 0; i < n; i++)
		batch->args[batch->n_args++] = cursor_varint(args);
	if (event_has_clock(e->kind)) {
		dec->model.ns += (uint64_t)cursor_svarint(args);
		e->ns = dec->model.ns;
	}
	return args->bad ? -1 : 0;
}

#define rare(x) __builtin_expect((x) != 0, 0)

/* Decode the fields of an event whose site and kind are known. */
per_kind int decode_fields(struct decoder *dec, struct model *m, struct batch *batch, struct event *e,
			   unsigned flags, struct way *way, const struct site *site, enum event_kind kind)
{
	uint64_t dinsns = way->step;

	e->kind = kind;
	if (rare(flags & SECOND_INSNS))
		dinsns = way->second;
	else if (rare(flags & MISS_INSNS))
		dinsns = cursor_varint(&dec->streams[STREAM_INSNS]);
	e->insns = m->insns + dinsns;
	e->slot = 0;
	if (has_slot(kind)) {
		e->slot = m->slot + (uint64_t)(int64_t)way->dslot;
		if (rare(flags & MISS_SLOT))
			e->slot += (uint64_t)cursor_svarint(&dec->streams[STREAM_SLOTS]);
	}
	e->from = expect_from(m, site, kind);
	if (rare(flags & MISS_FROM))
		e->from += (uint64_t)cursor_svarint(&dec->streams[STREAM_ADDRS]);
	e->target = expect_target(m, way, site, e, kind);
	if (rare(flags & MISS_TARGET))
		e->target += (uint64_t)cursor_svarint(&dec->streams[STREAM_ADDRS]);
	if ((kind >= EVENT_FIRST_SITELESS || kind == EVENT_INTERRUPT_RETURN) && get_args(dec, batch, e) < 0)
		return -1;
	model_learn(m, way, site, e, kind);
	return 0;
}

void batch_write_phrase(struct batch *batch, struct phrase_use *use)
{
	if (!use->written)
		phrase_write(batch->phrases, use->phrase, &batch->events[use->call]);
	use->written = true;
}

void batch_write_phrases(struct batch *batch)
{
	for (size_t i = 0; i < batch->n_uses; i++)
		batch_write_phrase(batch, &batch->uses[i]);
}

/*
 * Learn a phrase: what `call` did up to `e`. Learning overwrites the phrase that was learned first, so the events that
 * the new phrase is made of, and all pending uses of the old one, are written out before.
 */
static __attribute__((noinline)) void decode_learn(struct decoder *dec, struct batch *batch, const struct event *call,
						   const struct event *e)
{
	struct phrases *phrases = dec->model.phrases;
	const struct phrase_set *set = phrases_set(phrases, call->site);
	unsigned old = phrase_place(call->site, set->next + 1u);
	bool used = set->used_when == dec->batch && set->used >> set->next & 1;
	size_t first = (size_t)(call - batch->events);

	for (size_t i = batch->n_uses; i > 0 && batch->uses[i - 1].call > first; i--)
		batch_write_phrase(batch, &batch->uses[i - 1]);
	for (size_t i = 0; used && i < batch->n_uses; i++)
		if (batch->uses[i].phrase == old)
			batch_write_phrase(batch, &batch->uses[i]);
	phrases_learn(phrases, call, e);
}

per_kind void decode_follow(struct decoder *dec, struct batch *batch, struct event *e, struct event *window,
			    enum event_kind kind)
{
	const struct event *call = open_calls_follow(&dec->open, window, e, kind);

	if (call)
		decode_learn(dec, batch, call, e);
}

/*
 * Decode the phrase that follows a call, if any. Returns the place for the next event; NULL if the phrase does not
 * exist.
 */
per_kind struct event *decode_phrase(struct decoder *dec, struct model *m, struct batch *batch, struct event *call,
				     unsigned flags, struct way *way, struct event *window)
{
	struct phrase_set *set;
	unsigned number;

	if (rare(flags & MISS_PHRASE))
		way->phrase = cursor_u8(&dec->streams[STREAM_PHRASES]);
	if (!way->phrase) {
		model_pushed(m, call);
		decode_follow(dec, batch, call, window, EVENT_CALL);
		return call + 1;
	}
	number = way->phrase;
	set = phrases_set(m->phrases, call->site);
	if (!phrase_set_has(set, call->site, number) || call + set->counts[number - 1] >= window + WINDOW_EVENTS)
		return NULL;
	set->used = (uint8_t)((set->used_when == dec->batch ? set->used : 0) | 1u << (number - 1));
	set->used_when = dec->batch;
	batch->uses[batch->n_uses++] = (struct phrase_use){
		.call = (uint16_t)(call - batch->events), .phrase = (uint16_t)phrase_place(call->site, number),
	};
	model_skip(m, call->site, call->insns + set->insns[number - 1]);
	return call + 1 + set->counts[number - 1];
}

/* Decode one event. Returns the place for the next event, or NULL if the chunk is damaged. */
per_kind struct event *decode_as(struct decoder *dec, struct model *m, struct batch *batch, struct event *e,
				 unsigned flags, struct way *way, const struct site *site, struct event *window,
				 enum event_kind kind)
{
	if (decode_fields(dec, m, batch, e, flags, way, site, kind) < 0)
		return NULL;
	if (is_call(kind))
		return decode_phrase(dec, m, batch, e, flags, way, window);
	decode_follow(dec, batch, e, window, kind);
	return e + 1;
}

per_kind struct event *decode_event(struct decoder *dec, struct model *m, struct batch *batch, struct event *e,
				    unsigned flags, struct event *window)
{
	struct context *context = model_context(m);
	struct way *way = &context->ways[0];
	uint32_t tagged = way->site;
	const struct site *site;
	enum event_kind kind;

	if (rare(flags & MISS_SITE)) {
		if (flags & SECOND_SITE) {
			tagged = context->ways[1].site;
		} else {
			uint64_t n = cursor_varint(&dec->streams[STREAM_SITES]);
			uint32_t number = n < dec->sites->count ? (uint32_t)n : 0;

			tagged = tagged_site(number, sites_get(dec->sites, number)->kind);
		}
		way = context_turn(m, context, tagged);
	}
	e->site = tagged & ((1u << TAGGED_BITS) - 1);
	kind = (enum event_kind)(tagged >> TAGGED_BITS);
	site = sites_get(dec->sites, e->site);
	switch (kind) {
	case EVENT_CALL:
		return decode_as(dec, m, batch, e, flags, way, site, window, EVENT_CALL);
	case EVENT_RETURN:
		return decode_as(dec, m, batch, e, flags, way, site, window, EVENT_RETURN);
	case EVENT_JUMP:
		return decode_as(dec, m, batch, e, flags, way, site, window, EVENT_JUMP);
	case EVENT_NONE:
		return NULL;
	default:
		return decode_as(dec, m, batch, e, flags, way, site, window, kind);
	}
}

/*
 * Set the batch's time base: from the clock before the batch to the clock that ends it, if one does. A vCPU that was
 * halted and went on without a RESUME was halted until an unknown time, so the first known time is the next clock's.
 */
static void set_timebase(struct decoder *dec, struct batch *batch)
{
	const struct event *last = batch->events + batch->count - (batch->count > 0);

	batch->timebase = dec->clock;
	batch->clocked = batch->count && event_has_clock(last->kind);
	if (batch->clocked) {
		if (dec->halted && batch->count > 1)
			batch->timebase = timebase_from(dec->clock.insns, last->ns);
		else
			timebase_end(&batch->timebase, last->insns, last->ns);
		dec->clock = timebase_from(last->insns, last->ns);
	}
	if (batch->clocked)
		dec->halted =
			last->kind == EVENT_HALT || (dec->halted && batch->count == 1 && last->kind == EVENT_CLOCK);
}

void batch_complete(struct batch *batch)
{
	const struct timebase timebase = batch->timebase;
	const struct event *end = batch->events + batch->count - batch->clocked;

	batch_write_phrases(batch);
	for (struct event *e = batch->events; e < end; e++)
		e->ns = timebase_ns(&timebase, e->insns);
}

int decoder_next(struct decoder *dec, struct batch *batch, struct error *err)
{
	struct cursor *flags = &dec->streams[STREAM_FLAGS];
	const uint8_t *p = flags->p, *end = flags->end;
	struct event *e = batch->events, *window = e, *next;
	bool clock = false;
	/* a copy that nothing points to is kept in registers */
	struct model m = dec->model;
	int r = 0;

	batch->n_args = batch->n_uses = 0;
	batch->phrases = m.phrases;
	dec->batch++;
	dec->open.count = 0;
	while (p < end && !clock) {
		next = decode_event(dec, &m, batch, e, *p++, window);
		if (!next) {
			r = error_set(err, "damaged events");
			break;
		}
		clock = event_has_clock(e->kind);
		e = next;
		if (e == window + WINDOW_EVENTS) {
			if (e == batch->events + BATCH_EVENTS)
				break;
			window = e;
			dec->open.count = 0;
		}
	}
	flags->p = p;
	m.ns = dec->model.ns;
	dec->model = m;
	batch->count = (size_t)(e - batch->events);
	if (batch->n_uses)
		batch_write_phrase(batch, &batch->uses[batch->n_uses - 1]);
	set_timebase(dec, batch);
	for (int i = 0; i < CODEC_STREAMS && !r; i++)
		if (dec->streams[i].bad)
			r = error_set(err, "damaged events");
	return r;
}
