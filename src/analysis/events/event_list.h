/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The records of trace events that are asked for. */
#ifndef UPTO_ANALYSIS_EVENT_LIST_H
#define UPTO_ANALYSIS_EVENT_LIST_H

#include "analysis/calls/intervals.h"
#include "event_filter.h"
#include "replay/meter.h"
#include "replay/threads.h"

struct event_choice {
	const bool *events;          /* marks by number of their formats */
	struct event_filter *filter; /* NULL: any */
	struct span span;
	const struct intervals *intervals;
	const bool *processes, *threads; /* marks by number of thread; NULL: all */
};

struct event_list {
	const struct fact **list; /* in the order of time */
	size_t count, cap;
	const struct intervals *intervals; /* that it was chosen by: those of the choice */
};

void event_list_init(struct event_list *ret, const struct facts *facts, const struct event_formats *formats,
		     struct event_decoder *d, const struct threads *threads, const struct event_choice *choice);
void event_list_deinit(struct event_list *l);

/* What the thread was called that ran: its name then, or, where none is known, that of what CPUs begin with. */
const char *event_comm(const struct threads *threads, const struct fact *fact);

#endif
