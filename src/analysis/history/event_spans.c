/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event_spans.h"

#include <stdlib.h>

#include "base/alloc.h"

struct merging {
	const struct history *history;
	struct event_spans *to;
	uint32_t *now;  /* of each span of the history: its number among all */
	uint32_t *open; /* of each thread: the span of the history that it began last; HISTORY_NONE */
	uint32_t part;  /* the part of the boot that began last; HISTORY_NONE */
};

static bool is_part(const struct span_of *x)
{
	return x->kind == SPAN_BOOT || x->kind == SPAN_PHASE;
}

/* The innermost one of a span and what it is a part of that is not over. */
static uint32_t under_way(const struct history *h, uint32_t span, uint64_t ns)
{
	while (span != HISTORY_NONE && h->spans[span].end_ns <= ns)
		span = h->spans[span].parent;
	return span;
}

/* What the thread was about; if that is nothing, the part of the boot. */
static uint32_t parent_of(const struct merging *m, uint32_t thread, uint64_t ns)
{
	uint32_t own = thread == HISTORY_NONE ? HISTORY_NONE : under_way(m->history, m->open[thread], ns);

	if (own == HISTORY_NONE || is_part(&m->history->spans[own]))
		own = under_way(m->history, m->part, ns);
	return own == HISTORY_NONE ? own : m->now[own];
}

static void add_span(struct merging *m, uint32_t i)
{
	struct span_of *x = &m->to->list[m->to->count];

	m->now[i] = (uint32_t)m->to->count++;
	*x = m->history->spans[i];
	if (x->parent != HISTORY_NONE)
		x->parent = m->now[x->parent]; /* a parent comes before its children */
	if (is_part(x))
		m->part = i;
	else if (x->thread != HISTORY_NONE)
		m->open[x->thread] = i;
}

static void add_event(struct merging *m, const struct fact *f, const struct threads *threads)
{
	long number = f->task ? threads_find(threads, f->task, f->ns) : THREAD_NONE;
	uint32_t thread = number == THREAD_NONE ? HISTORY_NONE : (uint32_t)number;

	m->to->events[m->to->count] = f;
	m->to->list[m->to->count++] = (struct span_of){
		.kind = SPAN_EVENT,
		.parent = parent_of(m, thread, f->ns),
		.thread = thread,
		.function = HISTORY_NONE,
		.start_ns = f->ns,
		.end_ns = f->ns,
		.name = "",
		.queued = HISTORY_NONE,
	};
}

void event_spans_init(struct event_spans *ret, const struct history *h, const struct facts *facts,
		      const struct threads *threads)
{
	struct merging m = { .history = h, .to = ret, .part = HISTORY_NONE };
	size_t max = h->n_spans + facts->count + 1;
	uint32_t i = 0;

	*ret = (struct event_spans){ .list = xcalloc(max, sizeof *ret->list),
				     .events = xcalloc(max, sizeof *ret->events) };
	m.now = xcalloc(h->n_spans + 1, sizeof *m.now);
	m.open = xcalloc(h->n_threads + 1, sizeof *m.open);
	for (size_t t = 0; t < h->n_threads; t++)
		m.open[t] = HISTORY_NONE;
	for (size_t k = 0; k < facts->count; k++) {
		if (facts->list[k].kind != FACT_EVENT)
			continue;
		while (i < h->n_spans && h->spans[i].start_ns <= facts->list[k].ns)
			add_span(&m, i++);
		add_event(&m, &facts->list[k], threads);
	}
	while (i < h->n_spans)
		add_span(&m, i++);
	free(m.now);
	free(m.open);
}

void event_spans_deinit(struct event_spans *s)
{
	free(s->list);
	free(s->events);
	*s = (struct event_spans){ 0 };
}
