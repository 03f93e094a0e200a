/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of guest time that rows of an answer are to lie in. */
#ifndef UPTO_ANALYSIS_INTERVALS_H
#define UPTO_ANALYSIS_INTERVALS_H

#include "base/search.h"
#include "trace/thinned.h"

struct intervals {
	struct kept_span *list; /* from start_ns to before stop_ns, in the order of time, none within another */
	size_t count;           /* 0: all of the time */
	bool unstopped;         /* the last one's end is the trace's, since what was to stop it did not happen … */
	bool stop_jumps;        /* … as the function does not return */
};

/* The number of the first of them that is not over at that time; count: all are. */
static inline size_t intervals_find(const struct intervals *x, uint64_t ns)
{
	return first_not(i, 0, x->count, x->list[i].stop_ns <= ns);
}

/* Does one of them have a part of what lasts from there up to before end_ns? */
static inline bool intervals_touch(const struct intervals *x, uint64_t start_ns, uint64_t end_ns)
{
	size_t i = intervals_find(x, start_ns);

	return !x->count || (i < x->count && x->list[i].start_ns < end_ns);
}

/* How much of that time they have. */
static inline uint64_t intervals_overlap(const struct intervals *x, uint64_t start_ns, uint64_t end_ns)
{
	uint64_t sum = x->count ? 0 : end_ns - start_ns;

	for (size_t i = intervals_find(x, start_ns); i < x->count && x->list[i].start_ns < end_ns; i++) {
		const struct kept_span *s = &x->list[i];

		sum += (s->stop_ns < end_ns ? s->stop_ns : end_ns) - (s->start_ns > start_ns ? s->start_ns : start_ns);
	}
	return sum;
}

static inline bool intervals_have(const struct intervals *x, uint64_t ns)
{
	return intervals_touch(x, ns, ns + 1);
}

#endif
