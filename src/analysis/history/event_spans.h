/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The spans of a history with a trace's records of trace events and probes among them, which have no length. */
#ifndef UPTO_ANALYSIS_EVENT_SPANS_H
#define UPTO_ANALYSIS_EVENT_SPANS_H

#include "history.h"

struct event_spans {
	struct span_of *list;        /* as a history's; records are of kind SPAN_EVENT, and have no name */
	const struct fact **events;  /* by number of the span: its record; NULL: it is none */
	size_t count;
};

/* `facts`: in the order of time; those of other kinds do not count. Both must outlive *ret. */
void event_spans_init(struct event_spans *ret, const struct history *h, const struct facts *facts,
		      const struct threads *threads);
void event_spans_deinit(struct event_spans *s);

#endif
