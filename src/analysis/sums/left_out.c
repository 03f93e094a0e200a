/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "left_out.h"

#include <stdlib.h>

#include "base/alloc.h"

/*
 * The sum of a function. Makes one if there is none. It searches from `last` on, since loops call the same few
 * functions.
 */
static struct left_out_sum *sum_of(struct left_out *l, uint32_t function)
{
	for (size_t i = 0; i < l->count; i++) {
		size_t k = (l->last + i) % l->count;

		if (l->list[k].function == function) {
			l->last = k;
			return &l->list[k];
		}
	}
	l->list = array_grow(l->list, l->count, &l->cap, sizeof *l->list);
	l->last = l->count;
	l->list[l->count] = (struct left_out_sum){ .function = function };
	return &l->list[l->count++];
}

static void add(struct left_out_sum *sum, const struct left_out_sum *more)
{
	sum->calls += more->calls;
	sum->duration_ns += more->duration_ns;
	sum->ns += more->ns;
	sum->insns += more->insns;
}

void left_out_add(struct left_out *l, const struct left_out_sum *more)
{
	add(sum_of(l, more->function), more);
}

static int by_duration(const void *va, const void *vb)
{
	const struct left_out_sum *a = va, *b = vb;

	if (a->duration_ns != b->duration_ns)
		return a->duration_ns > b->duration_ns ? -1 : 1;
	return a->function < b->function ? -1 : a->function > b->function;
}

void left_out_sort(struct left_out *l)
{
	if (l->count)
		qsort(l->list, l->count, sizeof *l->list, by_duration);
	l->last = 0;
}

struct left_out_sum left_out_total(const struct left_out *l)
{
	struct left_out_sum total = { 0 };

	for (size_t i = 0; i < l->count; i++)
		add(&total, &l->list[i]);
	return total;
}

void left_out_clear(struct left_out *l)
{
	l->count = l->last = 0;
}

void left_out_deinit(struct left_out *l)
{
	free(l->list);
	*l = (struct left_out){ 0 };
}
