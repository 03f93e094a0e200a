/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When a trace event happened, as the trace's other events have it: a computed one is in the middle of a block, where
 * no clock can be told, but the counter is exact.
 */
#ifndef UPTO_ANALYSIS_EVENT_TIMES_H
#define UPTO_ANALYSIS_EVENT_TIMES_H

#include "trace/facts.h"

/*
 * Give all records of trace events, and of what functions were given, the times that their counters have, and put the
 * facts into their order. What facts are found by (facts_find()) no longer holds: facts_index().
 */
int event_times_settle(const struct reader *r, struct facts *facts, struct error *err);

#endif
