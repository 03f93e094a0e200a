/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What commands that show calls also show where it happened: records of trace events and probes, lines of the log. */
#ifndef UPTO_CLI_ARGS_RECORDED_FACTS_H
#define UPTO_CLI_ARGS_RECORDED_FACTS_H

#include "analysis/events/event_sums.h"
#include "trace_arg.h"

struct recorded_facts {
	bool log, events;   /* those that are shown: only if asked for, and if the trace has any */
	struct facts facts; /* by time; without those events that are not in `formats` */
	struct event_formats formats;
	struct event_sources of; /* of `events`: they point into this */
};

/*
 * --no-events leaves trace events out; lines of the log are shown only if `log` says so. Errors name the trace. Call
 * recorded_facts_deinit() also after an error.
 */
int recorded_facts_read(const struct args *args, struct trace_arg *t, bool log, struct recorded_facts *ret,
			struct error *err);
void recorded_facts_deinit(struct recorded_facts *f);

#define NO_EVENTS_OPTION                                                                                     \
	{                                                                                                    \
		0, "no-events", NULL, "without records of trace events and probes, where the trace has them" \
	}

#endif
