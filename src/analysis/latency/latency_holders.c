/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who had the vCPU in some times, and in which functions. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/map.h"
#include "latency.h"
#include "replay/index.h"

/* One of the times: what was spent in it so far, in ns. */
struct holding {
	struct latency *latency;
	struct map functions, threads; /* by function, and by stack */
};

struct holders_run {
	struct holding *list;  /* by begin */
	size_t count, next;    /* the one that begins next */
	size_t *under_way;     /* the numbers of those that are */
	size_t n_under_way;
};

static void add(struct map *sums, uint64_t key, uint64_t ns)
{
	uint64_t *sum = map_put(sums, key, 0);

	*sum = ns > UINT64_MAX - *sum ? UINT64_MAX : *sum + ns;
}

static void choose_hot(struct latency *l, uint32_t function, uint64_t ns)
{
	int at = HISTORY_HOT;

	/* of those that took as long, the first */
	for (; at > 0 && (ns > l->hot[at - 1].ns || (ns == l->hot[at - 1].ns && function < l->hot[at - 1].function));
	     at--)
		if (at < HISTORY_HOT)
			l->hot[at] = l->hot[at - 1];
	if (at < HISTORY_HOT) {
		l->hot[at].function = function;
		l->hot[at].ns = ns;
	}
}

static void close(struct holding *h)
{
	uint64_t key, ns, most = 0;

	for (size_t at = 0; map_next(&h->functions, &at, &key, &ns);)
		choose_hot(h->latency, (uint32_t)key, ns);
	for (size_t at = 0; map_next(&h->threads, &at, &key, &ns);)
		if (ns > most || (ns == most && key < h->latency->held_by)) {
			most = ns;
			h->latency->held_by = (uint32_t)key;
		}
	map_free(&h->functions);
	map_free(&h->threads);
}

/* The part of the last `ns` up to now that lies in it. */
static void spend_in(struct holding *h, const struct stacks *s, const struct stack *stack, uint64_t ns)
{
	const struct latency *l = h->latency;
	uint64_t from = ns < s->ns ? s->ns - ns : 0, to = s->ns < l->end_ns ? s->ns : l->end_ns;

	if (from < l->start_ns)
		from = l->start_ns;
	if (from >= to || stack->cpu < 0 || (unsigned)stack->cpu != l->cpu)
		return;
	add(&h->functions, stack->frames[stack->depth - 1].function, to - from);
	add(&h->threads, (uint64_t)(stack - s->list), to - from);
}

static void spend(void *state, struct stacks *s, struct stack *stack, const struct spent *spent)
{
	struct holders_run *run = state;

	while (run->next < run->count && run->list[run->next].latency->start_ns < s->ns)
		run->under_way[run->n_under_way++] = run->next++;
	for (size_t i = 0; i < run->n_under_way; i++) {
		struct holding *h = &run->list[run->under_way[i]];

		if (stack->depth && spent->ns)
			spend_in(h, s, stack, spent->ns);
	}
}

/*
 * Events of several vCPUs come by time, each with the time since its vCPU's last one: a time is over when all of them
 * are behind it.
 */
static void due(void *state, struct stacks *s)
{
	enum { EVERY_NS = 10000000, LATEST_NS = 100000000 };
	struct holders_run *run = state;
	size_t kept = 0;

	for (size_t i = 0; i < run->n_under_way; i++) {
		struct holding *h = &run->list[run->under_way[i]];

		if (h->latency->end_ns < UINT64_MAX - LATEST_NS && h->latency->end_ns + LATEST_NS < s->ns)
			close(h);
		else
			run->under_way[kept++] = run->under_way[i];
	}
	run->n_under_way = kept;
	s->due_ns = s->ns + EVERY_NS;
}

static int replay(const struct session *session, struct holders_run *run, const struct checkpoint *from, uint64_t to_ns,
		  struct error *err)
{
	static const struct stacks_visitor visitor = { .spend = spend, .due = due };
	struct stacks stacks;
	int result = stacks_replay(&stacks, session, from, to_ns, &visitor, run, err);

	for (size_t i = 0; i < run->n_under_way; i++)
		close(&run->list[run->under_way[i]]);
	run->n_under_way = 0;
	stacks_deinit(&stacks);
	return result;
}

static int by_start(const void *a, const void *b)
{
	const struct latency *x = ((const struct holding *)a)->latency, *y = ((const struct holding *)b)->latency;

	return x->start_ns == y->start_ns ? 0 : x->start_ns < y->start_ns ? -1 : 1;
}

/* The entry of the index that a time begins in. 0: without an index, all are in one. */
static size_t entry_of(const struct session *session, const struct latency *l)
{
	return session->index && l->start_ns ? index_at(session->index, l->start_ns - 1) : 0;
}

/* Those that begin in one entry of the index by one replay: up to the last one's end. */
static int replay_together(const struct session *session, struct holders_run *run, struct error *err)
{
	struct holders_run some = {
		.list = run->list, .next = run->next, .count = run->next, .under_way = run->under_way,
	};
	size_t entry = entry_of(session, run->list[run->next].latency);
	struct checkpoint from;
	uint64_t to_ns = 0;

	for (; some.count < run->count && entry_of(session, run->list[some.count].latency) == entry; some.count++)
		if (run->list[some.count].latency->end_ns > to_ns)
			to_ns = run->list[some.count].latency->end_ns;
	run->next = some.count;
	if (session->index && !index_checkpoint(session->index, entry, &from))
		return error_set(err, "%s.index: damaged: remove it", session->reader->path);
	/* one more, so that the event at the end is there, up to which the last time passes */
	return replay(session, &some, session->index ? &from : NULL, to_ns == UINT64_MAX ? to_ns : to_ns + 1, err);
}

int latency_find_holders(const struct session *session, struct latency *list, size_t count, struct error *err)
{
	struct holders_run run = {
		.list = xcalloc(count + 1, sizeof *run.list), .count = count,
		.under_way = xcalloc(count + 1, sizeof *run.under_way),
	};
	int result = 0;

	for (size_t i = 0; i < count; i++)
		run.list[i].latency = &list[i];
	qsort(run.list, count, sizeof *run.list, by_start);
	while (result == 0 && run.next < count)
		result = replay_together(session, &run, err);
	free(run.list);
	free(run.under_way);
	return result;
}
