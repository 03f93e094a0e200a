/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The spans that were asked for, of a trace that is a part of another one. */
#include <stdlib.h>
#include <string.h>

#include "making.h"
#include "trace/thinned.h"

/* Slices are in the order of time, and so are spans; a gap between two spans ends all slices. */
static void add_slices(const struct history *h, size_t *next, struct span_of *span)
{
	while (*next < h->n_slices && h->slices[*next].end_ns <= span->start_ns)
		++*next;
	for (; *next < h->n_slices && h->slices[*next].start_ns < span->end_ns; ++*next)
		spans_add_slice(&h->slices[*next], span);
}

void spans_put_recorded(struct making *m)
{
	struct history *h = m->history;
	struct kept_span *kept;
	size_t n = thinned_spans(&m->reader->meta, &kept), next = 0;
	char *start = thinned_start(&m->reader->meta);
	const char *name = n ? history_keep(h, start, strlen(start)) : NULL;

	for (size_t i = 0; i < n; i++) {
		struct span_of span = {
			.kind = SPAN_RECORDED, .parent = HISTORY_NONE, .thread = HISTORY_NONE,
			.function = HISTORY_NONE, .name = name,
			.start_ns = kept[i].start_ns,
			.end_ns = kept[i].stop_ns == UINT64_MAX ? h->end_ns : kept[i].stop_ns,
		};

		if (span.end_ns < span.start_ns)
			continue;
		add_slices(h, &next, &span);
		spans_add(m, &span);
	}
	free(start);
	free(kept);
}
