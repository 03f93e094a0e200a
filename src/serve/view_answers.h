/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a page asks for while it is looked at. */
#ifndef UPTO_SERVE_VIEW_ANSWERS_H
#define UPTO_SERVE_VIEW_ANSWERS_H

#include "base/json.h"
#include "analysis/calls/path_sums.h"
#include "replay/session.h"

enum {
	VIEW_CALLS_MAX = 20000,     /* calls in an answer */
	VIEW_EVENTS_MAX = 20000000, /* begins and ends that are gone through for it */
};

/*
 * The calls of a part of the time that took at least so long, as {"calls": [[thread, depth, start_ns, end_ns, name]],
 * "names": [], "complete": true}. Threads have the numbers that histories have, -1: not known; times are cut to the
 * part. Not complete: there is too much in that part; what was found so far is there. Reading from the session's index
 * changes that.
 */
int view_calls_put(const struct session *session, uint64_t from_ns, uint64_t to_ns, uint64_t min_ns, struct json *j,
		   struct error *err);

/*
 * The flame graph of a part of the time, as a page's (report/flame.h), without phases. It reads from the index, too.
 * `sums`: what much of the trace is answered with; NULL: it is replayed.
 */
int view_flame_put(const struct session *session, const struct path_sums *sums, uint64_t from_ns, uint64_t to_ns,
		   struct json *j, struct error *err);

#endif
