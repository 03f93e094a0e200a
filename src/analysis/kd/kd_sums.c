/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kd_sums.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "kd_nest.h"

/* A callee, and the function that it is listed with. */
struct pair {
	uint32_t of;
	struct kd_sub sub;
};

struct summing {
	const struct kfi_log *log;
	struct kd_sum *by_name; /* by the function's number */
	struct map numbers;     /* both functions → pair */
	struct pair *pairs;
	size_t n_pairs, pairs_cap;
};

static void add_call(struct summing *s, const struct kfi_call *call)
{
	struct kd_sum *sum = &s->by_name[call->function];
	uint64_t ns = (uint64_t)call->duration_ns;

	sum->count++;
	if (call->no_exit)
		return;
	if (!sum->timed++ || ns < sum->min_ns)
		sum->min_ns = ns;
	if (ns > sum->max_ns)
		sum->max_ns = ns;
	sum->total_ns += ns;
}

static void add_pair(struct summing *s, uint32_t of, const struct kfi_call *call)
{
	uint64_t *number = map_put(&s->numbers, (uint64_t)of << 32 | call->function, s->n_pairs);
	struct pair *p;

	if (*number == s->n_pairs) {
		s->pairs = array_grow(s->pairs, s->n_pairs, &s->pairs_cap, sizeof *s->pairs);
		s->pairs[s->n_pairs++] = (struct pair){ .of = of, .sub = { .function = call->function } };
	}
	p = &s->pairs[*number];
	p->sub.count++;
	p->sub.total_ns += (uint64_t)call->duration_ns;
}

static void enter(void *data, const struct kd_frame *frame, const struct kd_frame *parent)
{
	add_call(data, &frame->call);
	if (parent)
		add_pair(data, parent->call.function, &frame->call);
}

static void leave(void *data, const struct kd_frame *frame)
{
	struct summing *s = data;
	struct kd_sum *sum = &s->by_name[frame->call.function];

	if (frame->call.no_exit)
		return;
	sum->sub_ns += frame->sub_ns;
	sum->local_ns += (int64_t)frame->local_ns;
}

static void sum_nested(struct summing *s)
{
	struct kd_nest *nest = kd_nest_new(s->log, (struct kd_nest_user){ enter, leave, s });

	for (size_t i = 0; i < s->log->n; i++)
		kd_nest_add(nest, &s->log->calls[i]);
	kd_nest_finish(nest);
	kd_nest_free(nest);
}

static void sum_by_name(struct summing *s)
{
	for (size_t i = 0; i < s->log->n; i++)
		add_call(s, &s->log->calls[i]);
	for (size_t i = 0; i < s->log->n; i++) {
		const struct kfi_call *call = &s->log->calls[i];

		/* a caller that has no row itself is not listed */
		if (!s->by_name[call->caller].count)
			continue;
		s->by_name[call->caller].sub_ns += (uint64_t)call->duration_ns;
		add_pair(s, call->caller, call);
	}
}

static const struct kfi_log *sorting;

static int by_function_and_time(const void *va, const void *vb)
{
	const struct pair *a = va, *b = vb;

	if (a->of != b->of)
		return a->of < b->of ? -1 : 1;
	if (a->sub.total_ns != b->sub.total_ns)
		return a->sub.total_ns > b->sub.total_ns ? -1 : 1;
	if (a->sub.count != b->sub.count)
		return a->sub.count > b->sub.count ? -1 : 1;
	return strcmp(kfi_log_name(sorting, a->sub.function), kfi_log_name(sorting, b->sub.function));
}

/* Give each function its callees. */
static void list_subs(struct summing *s, struct kd_sums *ret)
{
	sorting = s->log;
	if (s->n_pairs)
		qsort(s->pairs, s->n_pairs, sizeof *s->pairs, by_function_and_time);
	ret->subs = xcalloc(s->n_pairs, sizeof *ret->subs);
	for (size_t i = 0; i < s->n_pairs; i++) {
		struct kd_sum *sum = &s->by_name[s->pairs[i].of];

		ret->subs[i] = s->pairs[i].sub;
		if (!sum->n_subs++)
			sum->subs = &ret->subs[i];
	}
}

static void list_sums(struct summing *s, bool as_kd, struct kd_sums *ret)
{
	ret->list = xcalloc(s->log->names.count, sizeof *ret->list);
	for (uint32_t i = 0; i < s->log->names.count; i++) {
		struct kd_sum *sum = &s->by_name[i];
		uint64_t n = as_kd ? sum->count : sum->timed;

		if (!sum->count)
			continue;
		sum->function = i;
		sum->average_ns = n ? sum->total_ns / n : 0;
		if (as_kd)
			sum->local_ns = (int64_t)sum->total_ns - (int64_t)sum->sub_ns;
		ret->list[ret->count++] = *sum;
	}
}

void kd_sums_analyse(const struct kfi_log *log, bool as_kd, struct kd_sums *ret)
{
	struct summing s = { .log = log, .by_name = xcalloc(log->names.count, sizeof *s.by_name) };

	*ret = (struct kd_sums){ 0 };
	if (as_kd)
		sum_by_name(&s);
	else
		sum_nested(&s);
	list_subs(&s, ret);
	list_sums(&s, as_kd, ret);
	map_free(&s.numbers);
	free(s.pairs);
	free(s.by_name);
}

void kd_sums_deinit(struct kd_sums *sums)
{
	free(sums->list);
	free(sums->subs);
	*sums = (struct kd_sums){ 0 };
}
