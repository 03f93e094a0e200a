/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adds up records of trace events by what they say, and finds which of them belong together. */
#ifndef UPTO_ANALYSIS_EVENT_SUMS_H
#define UPTO_ANALYSIS_EVENT_SUMS_H

#include "event_list.h"
#include "event_stacks.h"
#include "trace/boots.h"

enum { EVENT_KEYS_MAX = 4, EVENT_BUCKETS = 65 };

/* By what: a field, or event, comm, pid, cpu, caller, stack. */
struct event_keys {
	char *names[EVENT_KEYS_MAX];
	unsigned count;
};

/* "comm,bytes_alloc". Call event_keys_deinit() in either case. */
int event_keys_parse(const char *list, struct event_keys *ret, struct error *err);
void event_keys_deinit(struct event_keys *k);
/* Do they ask in which calls records were made? Then there must be stacks. */
bool event_keys_want_stacks(const struct event_keys *k);
/* An error: no chosen event (marks by number) has a field of that name. */
int event_keys_check(const struct event_keys *k, const struct event_decoder *d, size_t events, const bool *chosen,
		     struct error *err);

/* Where values lie: how many are 0, 1, 2 to 3, 4 to 7 … */
struct event_histogram {
	uint64_t count, sum, min, max;
	uint64_t buckets[EVENT_BUCKETS];
};

void event_histogram_add(struct event_histogram *h, uint64_t value);
/* The first value of a bucket. */
static inline uint64_t event_bucket_from(unsigned bucket)
{
	return bucket ? UINT64_C(1) << (bucket - 1) : 0;
}

struct event_sum {
	char *keys[EVENT_KEYS_MAX]; /* their values, as text; NULL: the event has no such field */
	uint64_t count;
	struct event_histogram values; /* of the field that is added up */
};

struct event_sums {
	struct event_keys keys;
	struct event_sum *list; /* the largest sum first, or, without one, the most frequent */
	size_t count, cap;
};

/* What is needed to read records. */
struct event_sources {
	const struct event_formats *formats;
	struct event_decoder *decoder;
	const struct threads *threads;
	const struct event_stacks *stacks; /* of the records; NULL: no key wants them */
	const struct boots *boots;         /* for pairs … */
	struct intervals spans;            /* … likewise: what was recorded, where that is not all */
};

/* `value`: the field that is added up; NULL: records are counted only. An error: no event has it. The keys are taken.
 */
int event_sums_init(struct event_sums *ret, const struct event_list *l, const struct event_sources *of,
		    const struct event_keys *keys, const char *value, struct error *err);
void event_sums_deinit(struct event_sums *s);

/*
 * What began with a record of one event, and ended, in the same boot, the same recorded span and the same interval,
 * with one of another that has the same values. What was between these is not in the list.
 */
struct event_pair {
	const struct fact *begin, *end; /* end: NULL: there is none; begin: NULL likewise */
};

struct event_pairs {
	struct event_pair *list; /* in the order in which they began, or, without a begin, ended */
	size_t count, cap;
	size_t open, unbegun;      /* without an end; without a begin */
	struct event_histogram ns; /* of those that have both */
};

/* Several that are open with the same values: the last one ends first. */
void event_pairs_init(struct event_pairs *ret, const struct event_list *l, const struct event_sources *of,
		      const bool *begins, const bool *ends, const struct event_keys *by);
void event_pairs_deinit(struct event_pairs *p);

#endif
