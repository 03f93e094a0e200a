/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Conditions on the fields of trace events, in the words of the kernel's own filters (Documentation/trace/events.rst):
 * "bytes > 4096 && (comm == \"dd\" || rwbs ~ \"W*\")". Fields are the event's, or pid, comm, cpu, which all have.
 */
#ifndef UPTO_ANALYSIS_EVENT_FILTER_H
#define UPTO_ANALYSIS_EVENT_FILTER_H

#include "event_decoder.h"

struct event_filter;

/* NULL: it is not understood; the message shows where. */
struct event_filter *event_filter_parse(const char *expression, struct error *err);
void event_filter_free(struct event_filter *f);

/*
 * Look for the fields that it asks for in the chosen events (marks by number). One that lacks a field never fits; that
 * all do is an error. Before event_filter_fits().
 */
int event_filter_bind(struct event_filter *f, const struct event_decoder *d, size_t events, const bool *chosen,
		      struct error *err);

/* `comm`: of the thread that ran. */
bool event_filter_fits(struct event_filter *f, struct event_decoder *d, const struct event_record *r, const char *comm);

#endif
