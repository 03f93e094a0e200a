/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was done when, as a tree or of some kinds only. */
#ifndef UPTO_TABLES_TIMELINE_TABLE_H
#define UPTO_TABLES_TIMELINE_TABLE_H

#include "analysis/calls/intervals.h"
#include "analysis/events/event_sums.h"
#include "analysis/history/history.h"
#include "replay/walk.h"
#include "table.h"

extern const struct column timeline_columns[];

/* Which spans have rows. */
struct timeline_choice {
	/* 0: all; else what is shorter is folded into one row for each parent, and in a table of kinds left out */
	uint64_t min_ns;
	uint64_t depth;         /* levels below the boot */
	bool kinds[SPAN_KINDS]; /* with any_kind: these, and no tree */
	bool any_kind;
	const bool *chosen;     /* marks by number: these, and in the tree what they are a part of; NULL: all */
	struct span span;       /* of guest time: with a part in it … */
	const struct intervals *intervals; /* … and in one of these */
	const struct intervals *recorded;  /* what the trace has; of the rest nothing is known but when it was */
	unsigned bar_width;     /* letters of the bars */
	/* records of trace events by number of their spans, NULL where it is none; NULL: there are none */
	const struct fact *const *events;
	const struct event_sources *of; /* of `events` */
	bool all_events;        /* in the tree each has a row, however short that is */
	unsigned others;        /* how many of those that had the CPU are named, up to HISTORY_HOT */
};

/* The time that is shown: as far as it was recorded. */
struct span timeline_range(const struct history *h, const struct timeline_choice *choice);

void timeline_table_init(struct table *ret, const struct history *h, const struct threads *threads,
			 const struct timeline_choice *choice);

#endif
