/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events of function_graph and its like, as libtraceevent has them, put as records (graph_records.h): in the process
 * apart. Layouts of events are those of the kernel that wrote them: they differ.
 */
#ifndef UPTO_IMPORT_GRAPH_EVENTS_H
#define UPTO_IMPORT_GRAPH_EVENTS_H

#include <traceevent/event-parse.h>

#include "base/map.h"
#include "graph_records.h"

enum { GRAPH_EVENTS = 13, GRAPH_FIELDS = 5 };

struct graph_events {
	struct graph_writer *to;
	struct tep_handle *tep;
	struct tep_event *known[GRAPH_EVENTS]; /* NULL: there is no such event */
	struct tep_format_field *fields[GRAPH_EVENTS][GRAPH_FIELDS];
	struct map names;  /* functions that were named */
	struct map starts; /* address → where its function begins */
	struct map pids;   /* large ones whose names were put, or are not known */
	bool keeps_all;    /* all events are put, also those that only tell of threads */
	struct map formats; /* event's ID → its number + 1 */
	uint64_t n_formats;
	bool is_x86_64;
	struct buf turned; /* a record of the other order of bytes */
	uint64_t calls;    /* begins and ends */
	/* ns that records were written behind their calls' ends, at least; is their clock another than the tracer's? */
	uint64_t least_later;
	bool other_clock;
};

/* `keeps_all`: events that tell of threads and the log are put as events, too: somebody asked for them. */
void graph_events_init(struct graph_events *d, struct tep_handle *tep, bool keeps_all, struct graph_writer *to);
/* Does anything tell of calls? */
bool graph_events_are_there(const struct graph_events *d);

/* Put the names of those who were there before; of large PIDs they come with their first event. */
void graph_events_put_comms(struct graph_events *d);
/* Records of one CPU are in the order of time, and of all CPUs nearly so. */
void graph_events_take(struct graph_events *d, struct tep_record *record, int cpu);

#endif
