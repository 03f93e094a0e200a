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
	for (unsigned cpu = 0; cpu < h->n_cpus; cpu++) {
		uint32_t end = h->first_on_cpu[cpu + 1], at = history_on_cpu(h, cpu, span->start_ns);

		/* what began before it may go on in it */
		for (at = at < end ? at : h->first_on_cpu[cpu]; at < end; at++) {
			const struct slice *x = &h->slices[h->by_cpu[at]];

			if (x->start_ns >= span->end_ns)
				break;
			spans_add_slice(x, span);
		}
	}
}
