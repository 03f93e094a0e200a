/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of guest time that rows of an answer are to lie in. */
#ifndef UPTO_ANALYSIS_INTERVALS_H
#define UPTO_ANALYSIS_INTERVALS_H

#include "trace/thinned.h"

struct intervals {
	struct kept_span *list; /* from start_ns to before stop_ns, in the order of time, none within another */
	size_t count;           /* 0: all of the time */
	bool unstopped;         /* the last one's end is the trace's, since what was to stop it did not happen … */
	bool stop_jumps;        /* … as the function does not return */
};

/* Does one of them have a part of what lasts from there up to before end_ns? */
static inline bool intervals_touch(const struct intervals *x, uint64_t start_ns, uint64_t end_ns)
{
	size_t low = 0, high = x->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (x->list[middle].stop_ns > start_ns)
			high = middle;
		else
			low = middle + 1;
	}
	return !x->count || (low < x->count && x->list[low].start_ns < end_ns);
}

static inline bool intervals_have(const struct intervals *x, uint64_t ns)
{
	return intervals_touch(x, ns, ns + 1);
}

#endif
