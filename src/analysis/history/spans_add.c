/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Spans are added to a history, and what ran in the meantime to spans. */
#include "base/alloc.h"
#include "making.h"

void spans_add(struct making *m, const struct span_of *span)
{
	struct history *h = m->history;

	h->spans = array_grow(h->spans, h->n_spans, &m->spans_cap, sizeof *h->spans);
	h->spans[h->n_spans] = *span;
	if (span->kind != SPAN_WORK)
		h->spans[h->n_spans].queued = HISTORY_NONE;
	h->n_spans++;
}

void spans_add_slice(const struct slice *x, struct span_of *span)
{
	uint64_t from = x->start_ns > span->start_ns ? x->start_ns : span->start_ns,
		 to = x->end_ns < span->end_ns ? x->end_ns : span->end_ns;
	uint64_t all = x->end_ns - x->start_ns, ran = all - (x->halted_ns < all ? x->halted_ns : all);

	if (to <= from)
		return;
	span->cpu_ns += to - from == all ? ran : (uint64_t)((__uint128_t)ran * (to - from) / all);
	span->insns += to - from == all ? x->insns : (uint64_t)((__uint128_t)x->insns * (to - from) / all);
}

void spans_add_all(const struct history *h, struct span_of *span)
{
	for (size_t i = 0; i < h->n_slices; i++)
		spans_add_slice(&h->slices[i], span);
}
