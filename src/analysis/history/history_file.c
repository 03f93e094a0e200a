/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "history_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "replay/kept_file.h"

/* Numbers: HISTORY_NONE is 0. */
static void put_number(struct buf *out, uint32_t n)
{
	buf_put_varint(out, (uint32_t)(n + 1));
}

static void put_stack(struct buf *out, const struct history_stack *s)
{
	buf_put_varint(out, s->first);
	buf_put_varint(out, s->count);
}

/* A time behind another one; UINT64_MAX is 0. */
static void put_later(struct buf *out, uint64_t ns, uint64_t start)
{
	buf_put_varint(out, ns == UINT64_MAX ? 0 : ns - start + 1);
}

static void put_slice(struct buf *out, const struct slice *x, uint64_t before)
{
	put_number(out, x->thread);
	buf_put_varint(out, x->cpu);
	put_number(out, x->span);
	put_number(out, x->away);
	put_number(out, x->handler);
	buf_put_varint(out, x->start_ns - before);
	buf_put_varint(out, x->end_ns - x->start_ns);
	buf_put_varint(out, x->insns);
	buf_put_varint(out, x->halted_ns);
	for (int i = 0; i < HISTORY_HOT; i++) {
		put_number(out, x->hot[i].ns ? x->hot[i].function : HISTORY_NONE);
		buf_put_varint(out, x->hot[i].ns);
	}
}

static void put_timer(struct buf *out, const struct timer_set *t)
{
	put_number(out, t->function);
	put_number(out, t->in);
	put_number(out, t->by);
	buf_put_varint(out, t->ns);
}

static void put_queued(struct buf *out, const struct work_queued *q)
{
	buf_put_varint(out, q->ns);
	put_number(out, q->by);
	put_number(out, q->in);
	put_timer(out, &q->timer);
}

static void put_away(struct buf *out, const struct away *a, uint64_t before)
{
	put_number(out, a->thread);
	put_number(out, a->span);
	buf_put_varint(out, a->start_ns - before);
	put_later(out, a->wake_ns, a->start_ns);
	put_later(out, a->end_ns, a->start_ns);
	buf_put_u8(out, (uint8_t)a->kind);
	buf_put_u8(out, (uint8_t)a->context);
	put_number(out, a->function);
	put_number(out, a->caller);
	put_stack(out, &a->stack);
	put_number(out, a->holder);
	put_number(out, a->waker);
	put_number(out, a->waker_function);
	put_stack(out, &a->waker_stack);
	put_timer(out, &a->timer);
}

static void put_span(struct buf *out, const struct span_of *x, uint64_t before)
{
	buf_put_u8(out, (uint8_t)x->kind);
	put_number(out, x->parent);
	put_number(out, x->thread);
	put_number(out, x->function);
	buf_put_varint(out, x->start_ns - before);
	buf_put_varint(out, x->end_ns - x->start_ns);
	buf_put_varint(out, x->insns);
	buf_put_varint(out, x->cpu_ns);
	put_number(out, x->queued);
	buf_put_str(out, x->name, strlen(x->name));
	buf_put_u8(out, x->has_result);
	buf_put_svarint(out, x->result);
}

void history_encode(const struct history *h, struct buf *out)
{
	buf_put_varint(out, h->end_ns);
	buf_put_varint(out, h->n_host_words);
	for (size_t i = 0; i < h->n_host_words; i++) {
		buf_put_varint(out, h->host_words[i].ns);
		put_number(out, h->host_words[i].thread);
	}
	for (int i = 0; i < FOLD_KINDS; i++) {
		buf_put_varint(out, h->costs[i].insns);
		buf_put_varint(out, h->costs[i].ns);
	}
	buf_put_varint(out, h->n_functions);
	for (size_t i = 0; i < h->n_functions; i++)
		buf_put_varint(out, h->functions[i]);
	buf_put_varint(out, h->n_queued);
	for (size_t i = 0; i < h->n_queued; i++)
		put_queued(out, &h->queued[i]);
	buf_put_varint(out, h->n_spans);
	for (size_t i = 0; i < h->n_spans; i++)
		put_span(out, &h->spans[i], i ? h->spans[i - 1].start_ns : 0);
	buf_put_varint(out, h->n_aways);
	for (size_t i = 0; i < h->n_aways; i++)
		put_away(out, &h->aways[i], i ? h->aways[i - 1].start_ns : 0);
	buf_put_varint(out, h->n_slices);
	for (size_t i = 0; i < h->n_slices; i++)
		put_slice(out, &h->slices[i], i ? h->slices[i - 1].start_ns : 0);
}

/* How many of anything may be numbered. */
struct limits {
	uint64_t functions, threads, spans, aways, stacks, cpus, queued;
};

/* A number below `limit`, or HISTORY_NONE. */
static uint32_t take_number(struct cursor *in, uint64_t limit)
{
	uint64_t n = cursor_varint(in);

	if (n > limit)
		in->bad = true;
	return (uint32_t)(n - 1);
}

/* A number that is there. */
static uint32_t take_some(struct cursor *in, uint64_t limit)
{
	uint32_t n = take_number(in, limit);

	in->bad |= n == HISTORY_NONE;
	return n;
}

static struct history_stack take_stack(struct cursor *in, const struct limits *l)
{
	uint64_t first = cursor_varint(in), count = cursor_varint(in);

	if (first > l->stacks || count > l->stacks - first)
		in->bad = true;
	return (struct history_stack){ .first = (uint32_t)first, .count = (uint32_t)count };
}

/* A count of things that take at least so many bytes each. */
static size_t take_count(struct cursor *in, size_t bytes)
{
	uint64_t n = cursor_varint(in);

	if (n > cursor_left(in) / bytes) {
		in->bad = true;
		return 0;
	}
	return (size_t)n;
}

static uint64_t take_end(struct cursor *in, uint64_t start)
{
	uint64_t length = cursor_varint(in);

	in->bad |= length > UINT64_MAX - start;
	return start + length;
}

/* A time behind another one; UINT64_MAX: never. */
static uint64_t take_later(struct cursor *in, uint64_t start)
{
	uint64_t n = cursor_varint(in);

	in->bad |= n && n - 1 > UINT64_MAX - start;
	return n ? start + n - 1 : UINT64_MAX;
}

static void take_slice(struct cursor *in, const struct limits *l, uint64_t before, struct slice *ret)
{
	ret->thread = take_some(in, l->threads);
	ret->cpu = (uint32_t)cursor_varint(in);
	in->bad |= ret->cpu >= l->cpus;
	ret->span = take_number(in, l->spans);
	ret->away = take_number(in, l->aways);
	ret->handler = take_number(in, l->functions);
	ret->start_ns = take_end(in, before);
	ret->end_ns = take_end(in, ret->start_ns);
	ret->insns = cursor_varint(in);
	ret->halted_ns = cursor_varint(in);
	for (int i = 0; i < HISTORY_HOT; i++) {
		ret->hot[i].function = take_number(in, l->functions);
		ret->hot[i].ns = cursor_varint(in);
		in->bad |= ret->hot[i].ns && ret->hot[i].function == HISTORY_NONE;
	}
}

static struct timer_set take_timer(struct cursor *in, const struct limits *l)
{
	struct timer_set t = { .function = take_number(in, l->functions) };

	t.in = take_number(in, l->functions);
	t.by = take_number(in, l->threads);
	t.ns = cursor_varint(in);
	return t;
}

static struct work_queued take_queued(struct cursor *in, const struct limits *l)
{
	struct work_queued q = { .ns = cursor_varint(in) };

	q.by = take_number(in, l->threads);
	q.in = take_number(in, l->functions);
	q.timer = take_timer(in, l);
	return q;
}

static void take_away(struct cursor *in, const struct limits *l, uint64_t before, struct away *ret)
{
	ret->thread = take_some(in, l->threads);
	ret->span = take_number(in, l->spans);
	ret->start_ns = take_end(in, before);
	ret->wake_ns = take_later(in, ret->start_ns);
	ret->end_ns = take_later(in, ret->start_ns);
	ret->kind = cursor_u8(in);
	ret->context = cursor_u8(in);
	in->bad |= ret->kind >= WAIT_KINDS || ret->context > WAKE_FORK;
	ret->function = take_number(in, l->functions);
	ret->caller = take_number(in, l->functions);
	ret->stack = take_stack(in, l);
	ret->holder = take_number(in, l->threads);
	ret->waker = take_number(in, l->threads);
	ret->waker_function = take_number(in, l->functions);
	ret->waker_stack = take_stack(in, l);
	ret->timer = take_timer(in, l);
}

static void take_span(struct cursor *in, const struct limits *l, uint32_t number, struct history *h)
{
	struct span_of *ret = &h->spans[number];
	uint64_t len;
	const char *name;

	ret->kind = cursor_u8(in);
	in->bad |= ret->kind >= SPAN_KINDS;
	ret->parent = take_number(in, number);
	ret->thread = take_number(in, l->threads);
	ret->function = take_number(in, l->functions);
	ret->start_ns = take_end(in, number ? h->spans[number - 1].start_ns : 0);
	ret->end_ns = take_end(in, ret->start_ns);
	ret->insns = cursor_varint(in);
	ret->cpu_ns = cursor_varint(in);
	ret->queued = take_number(in, l->queued);
	len = cursor_varint(in);
	name = cursor_take(in, len);
	ret->name = name ? history_keep(h, name, len) : "";
	ret->has_result = cursor_u8(in) & 1;
	ret->result = cursor_svarint(in);
}

static void take_all(struct cursor *in, struct limits *l, struct history *h)
{
	enum { WORD_BYTES = 2, QUEUED_BYTES = 7, SPAN_BYTES = 12, AWAY_BYTES = 18, SLICE_BYTES = 15 };

	h->end_ns = cursor_varint(in);
	h->n_host_words = take_count(in, WORD_BYTES);
	h->host_words = xcalloc(h->n_host_words + 1, sizeof *h->host_words);
	for (size_t i = 0; i < h->n_host_words; i++) {
		h->host_words[i].ns = cursor_varint(in);
		h->host_words[i].thread = take_number(in, l->threads);
		in->bad |= h->host_words[i].thread == HISTORY_NONE;
	}
	for (int i = 0; i < FOLD_KINDS; i++) {
		h->costs[i].insns = cursor_varint(in);
		h->costs[i].ns = cursor_varint(in);
	}
	h->n_functions = take_count(in, 1);
	h->functions = xcalloc(h->n_functions + 1, sizeof *h->functions);
	for (size_t i = 0; i < h->n_functions; i++) {
		uint64_t f = cursor_varint(in);

		in->bad |= f >= l->functions;
		h->functions[i] = (uint32_t)f;
	}
	l->stacks = h->n_functions;
	h->n_queued = l->queued = take_count(in, QUEUED_BYTES);
	h->queued = xcalloc(h->n_queued + 1, sizeof *h->queued);
	for (size_t i = 0; i < h->n_queued; i++)
		h->queued[i] = take_queued(in, l);
	h->n_spans = l->spans = take_count(in, SPAN_BYTES);
	h->spans = xcalloc(h->n_spans + 1, sizeof *h->spans);
	for (size_t i = 0; i < h->n_spans; i++)
		take_span(in, l, (uint32_t)i, h);
	h->n_aways = l->aways = take_count(in, AWAY_BYTES);
	h->aways = xcalloc(h->n_aways + 1, sizeof *h->aways);
	for (size_t i = 0; i < h->n_aways; i++)
		take_away(in, l, i ? h->aways[i - 1].start_ns : 0, &h->aways[i]);
	h->n_slices = take_count(in, SLICE_BYTES);
	h->slices = xcalloc(h->n_slices + 1, sizeof *h->slices);
	for (size_t i = 0; i < h->n_slices; i++)
		take_slice(in, l, i ? h->slices[i - 1].start_ns : 0, &h->slices[i]);
}

int history_decode(struct cursor *in, const struct session *session, struct history *ret,
		   struct error *err)
{
	struct limits l = { .functions = names_count(session->names) };

	*ret = history_empty(session);
	l.threads = ret->n_threads;
	l.cpus = ret->n_cpus;
	take_all(in, &l, ret);
	if (in->bad || cursor_left(in))
		return error_set(err, "damaged history");
	history_index(ret);
	return facts_read(session->reader, &ret->facts, err);
}

static const struct kept_file kept = { ".history", "\x89uptohis", HISTORY_VERSION };

static int load(const struct session *session, struct history *ret)
{
	struct error ignored;
	struct buf data;
	struct cursor in;
	int result;

	if (!kept_file_load(&kept, session, &data))
		return -1;
	in = cursor_over(data.data, data.len);
	result = history_decode(&in, session, ret, &ignored);
	if (result < 0)
		history_deinit(ret);
	buf_free(&data);
	return result;
}

static void give_costs(const struct session *session, const struct history *h)
{
	const struct fold *fold = session->fold;

	if (fold && fold->spent && span_is_all(&fold->span))
		memcpy(fold->spent, h->costs, sizeof h->costs);
}

/* What is kept is of all of the trace, whichever part is asked for now. */
static int make_and_keep(const struct session *session, struct history *ret, struct error *err)
{
	struct spent costs[FOLD_KINDS] = { 0 };
	struct session whole = *session;
	struct buf data = { 0 };
	struct fold fold;

	if (session->fold) {
		fold = *session->fold;
		fold.spent = costs;
		fold.span = SPAN_ALL;
		whole.fold = &fold;
	}
	if (history_make(&whole, ret, err) < 0)
		return -1;
	memcpy(ret->costs, costs, sizeof costs);
	history_encode(ret, &data);
	kept_file_store(&kept, session, &data);
	buf_free(&data);
	return 0;
}

int history_open(const struct session *session, bool keeps, struct history *ret, struct error *err)
{
	if (load(session, ret) == 0) {
		give_costs(session, ret);
		return 0;
	}
	if (!keeps)
		return history_make(session, ret, err);
	if (make_and_keep(session, ret, err) < 0)
		return -1;
	give_costs(session, ret);
	return 0;
}
