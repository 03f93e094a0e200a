/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the recorder read beside the events: the part that is written is what the spans have. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/search.h"
#include "thin_make.h"
#include "trace/facts.h"
#include "trace/texts.h"

static int by_cpu_and_insns(const void *a, const void *b)
{
	const struct thin_range *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to == y->to ? 0 : x->to < y->to ? -1 : 1;
}

/* Of sorted ranges. Those of a vCPU follow each other, so only the last that begins there or before can have it. */
static bool is_within(const struct thin_ranges *r, unsigned cpu, uint64_t insns)
{
	const struct thin_range at = { .cpu = cpu, .from = insns, .to = UINT64_MAX };
	size_t low = first_not(i, 0, r->count, by_cpu_and_insns(&r->list[i], &at) <= 0);

	return low && r->list[low - 1].cpu == cpu && r->list[low - 1].to >= insns;
}

/*
 * Facts of locks between spans: the last one of each task is of the lock that it may wait for still where the next span
 * begins.
 */
struct locks {
	struct map last_of;  /* task_struct → number of the fact + 1 */
	size_t *numbers, count, cap;
	size_t span;         /* the next one */
};

static void put_locks(struct locks *l, const struct facts *facts, struct buf *out)
{
	for (size_t i = 0; i < l->count; i++) {
		const struct fact *f = &facts->list[l->numbers[i]];

		if (*map_get(&l->last_of, f->task) == l->numbers[i] + 1)
			fact_put(out, f);
	}
	l->count = 0;
}

static void look_at_lock(const struct thinning *t, struct locks *l, const struct facts *facts, size_t number,
			 struct buf *out)
{
	const struct fact *f = &facts->list[number];

	for (; l->span < t->n_spans && f->ns >= t->spans[l->span].from_ns; l->span++)
		put_locks(l, facts, out);
	if (f->kind != FACT_LOCK || l->span == t->n_spans)
		return;
	*map_put(&l->last_of, f->task, 0) = number + 1;
	l->numbers = array_grow(l->numbers, l->count, &l->cap, sizeof *l->numbers);
	l->numbers[l->count++] = number;
}

/* Readers take no chunk that is larger than CHUNK_UNPACKED_MAX. */
static void pass_on(struct builder *b, enum chunk_type type, struct buf *payload)
{
	enum { PIECE = 32 << 20 };

	if (payload->len < PIECE)
		return;
	builder_put_table(b, type, payload, BUILDER_TABLES_LEVEL);
	payload->len = 0;
}

static void put_all_facts(const struct thinning *t, const struct thin_ranges *ranges, const struct facts *facts,
			  struct builder *b, struct buf *out)
{
	struct locks locks = { 0 };

	for (size_t i = 0; i < facts->count; i++) {
		pass_on(b, CHUNK_FACTS, out);
		if (is_within(ranges, facts->list[i].cpu, facts->list[i].insns))
			fact_put(out, &facts->list[i]);
		else if (t->finds)
			look_at_lock(t, &locks, facts, i, out);
	}
	if (locks.span < t->n_spans)
		put_locks(&locks, facts, out);
	map_free(&locks.last_of);
	free(locks.numbers);
}

int thin_put_facts(const struct thinning *t, struct thin_ranges *ranges, struct builder *b, struct error *err)
{
	const struct reader *r = t->session->reader;
	struct buf payload = { 0 };
	struct facts facts;
	struct texts texts;
	int result = facts_read(r, &facts, err);

	if (ranges->count)
		qsort(ranges->list, ranges->count, sizeof *ranges->list, by_cpu_and_insns);
	if (result == 0)
		put_all_facts(t, ranges, &facts, b, &payload);
	builder_put_table(b, CHUNK_FACTS, &payload, BUILDER_TABLES_LEVEL);
	facts_deinit(&facts);
	buf_free(&payload);
	if (result < 0)
		return -1;
	payload = (struct buf){ 0 };
	result = texts_read_some(r, NULL, NULL, &texts, err);
	for (size_t i = 0; result == 0 && i < texts.count; i++) {
		pass_on(b, CHUNK_TEXTS, &payload);
		if (is_within(ranges, texts.list[i].cpu, texts.list[i].insns))
			text_put(&payload, &texts.list[i]);
	}
	builder_put_table(b, CHUNK_TEXTS, &payload, BUILDER_TABLES_LEVEL);
	texts_deinit(&texts);
	buf_free(&payload);
	return result;
}
