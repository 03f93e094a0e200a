/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "page_versions.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"

struct page_versions {
	const struct args *args;
	unsigned count; /* readings that there were */
	/* held by whoever answers, so that the reading is not freed meanwhile */
	pthread_rwlock_t lock;
	struct page_reading *now;
};

struct page_versions *page_versions_open(const struct args *args, struct error *err)
{
	struct page_reading *first = page_reading_open(args, 0, err);
	struct page_versions *v;

	if (!first)
		return NULL;
	v = xcalloc(1, sizeof *v);
	v->args = args;
	v->count = 1;
	v->now = first;
	pthread_rwlock_init(&v->lock, NULL);
	return v;
}

void page_versions_free(struct page_versions *v)
{
	page_reading_free(v->now);
	pthread_rwlock_destroy(&v->lock);
	free(v);
}

bool page_versions_are_there(struct page_versions *v)
{
	bool ret;

	pthread_rwlock_rdlock(&v->lock);
	ret = page_answers_are_there(page_reading_answers(v->now));
	pthread_rwlock_unlock(&v->lock);
	return ret;
}

bool page_versions_answer(void *versions, const char *path, const struct web_request *r, struct web_answer *ret)
{
	struct page_versions *v = versions;
	bool known;

	pthread_rwlock_rdlock(&v->lock);
	known = page_answers_answer(page_reading_answers(v->now), path, r, ret);
	pthread_rwlock_unlock(&v->lock);
	return known;
}

static void take_place(struct page_versions *v, struct page_reading *next)
{
	struct page_reading *before;

	pthread_rwlock_wrlock(&v->lock);
	before = v->now;
	v->now = next;
	pthread_rwlock_unlock(&v->lock);
	page_reading_free(before);
}

static bool has_grown(const struct page_versions *v)
{
	struct stat st;

	return stat(v->args->operands[0], &st) == 0 && (uint64_t)st.st_size != page_reading_size(v->now);
}

static void wait_ns(uint64_t ns, page_is_over *is_over, void *context)
{
	enum { STEP_NS = 100000000 };
	const struct timespec step = { .tv_nsec = STEP_NS };

	for (uint64_t waited = 0; waited < ns && !is_over(context); waited += STEP_NS)
		nanosleep(&step, NULL);
}

/* Once more, if there is more. What cannot be read now may be so later: the recorder may be writing it. */
static void read_again(struct page_versions *v, page_is_over *is_over, void *context)
{
	struct error ignored;
	struct page_reading *next = has_grown(v) ? page_reading_open(v->args, v->count, &ignored) : NULL;

	if (!next)
		return;
	if (page_reading_read(next, is_over, context, &ignored) < 0) {
		page_reading_free(next);
		return;
	}
	v->count++;
	take_place(v, next);
}

/* For sums: while they are made, the trace is not to grow. */
struct still {
	const struct page_versions *versions;
	page_is_over *is_over;
	void *context;
};

static bool is_no_more(void *still)
{
	const struct still *s = still;

	return s->is_over(s->context) || has_grown(s->versions);
}

/*
 * Reading takes at most half of the time, so that most of the machine is the guest's. A trace that stands still may
 * have no end for ever, as when its recorder was killed: then the sums are of what there is.
 */
static void follow(struct page_versions *v, page_is_over *is_over, void *context)
{
	const uint64_t least_ns = 1000000000, still_ns = 4000000000;
	struct still still = { v, is_over, context };
	uint64_t took_ns = 0, since_ns = clock_ns();
	unsigned summed = 0; /* v->count when the sums were begun last */

	while (!page_reading_is_whole(v->now) && !is_over(context)) {
		uint64_t began;

		wait_ns(took_ns > least_ns ? took_ns : least_ns, is_over, context);
		began = clock_ns();
		if (has_grown(v)) {
			read_again(v, is_over, context);
			since_ns = clock_ns();
			took_ns = since_ns - began;
		} else if (summed != v->count && began - since_ns >= still_ns) {
			summed = v->count;
			page_reading_sums(v->now, is_no_more, &still);
		}
	}
}

int page_versions_read(struct page_versions *v, page_is_over *is_over, void *context, struct error *err)
{
	/* one that is given up is no failure */
	if (page_reading_read(v->now, is_over, context, err) < 0)
		return is_over(context) ? 0 : -1;
	follow(v, is_over, context);
	if (!is_over(context))
		page_reading_sums(v->now, is_over, context);
	return 0;
}
