/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "series.h"

static struct series_slot *slot_of(const struct type *type, const struct series_slot *slots, uint64_t interval)
{
	return (struct series_slot *)&slots[interval % (uint64_t)type->max];
}

static void add(enum aggregate of, struct series_slot *s, int64_t n)
{
	switch (of) {
	case SUM:
	case AVG:
		s->value = (int64_t)((uint64_t)s->value + (uint64_t)n);
		break;
	case MIN:
		s->value = s->count && s->value < n ? s->value : n;
		break;
	case MAX:
		s->value = s->count && s->value > n ? s->value : n;
		break;
	default:
		s->value = n;
	}
	s->count++;
}

void series_add(const struct type *type, struct series_slot *slots, uint64_t ns, int64_t n)
{
	uint64_t interval = ns / (uint64_t)type->step;
	struct series_slot *s = slot_of(type, slots, interval);

	if (s->interval > interval + 1) /* a later one is in its place */
		return;
	if (s->interval != interval + 1)
		*s = (struct series_slot){ .interval = interval + 1 };
	add(type->of, s, n);
}

bool series_find(const struct type *type, const struct series_slot *slots, uint64_t interval, int64_t *ret)
{
	const struct series_slot *s = slot_of(type, slots, interval);

	if (s->interval != interval + 1)
		return false;
	*ret = type->of == AVG ? s->value / (int64_t)s->count : s->value;
	return true;
}

bool series_last(const struct type *type, const struct series_slot *slots, uint64_t *ret)
{
	uint64_t most = 0;

	for (int64_t i = 0; i < type->max; i++)
		if (slots[i].interval > most)
			most = slots[i].interval;
	*ret = most - 1;
	return most;
}

bool series_first(const struct type *type, const struct series_slot *slots, uint64_t last, uint64_t *ret)
{
	uint64_t first = last + 1;

	for (int64_t i = 0; i < type->max; i++) {
		uint64_t interval = slots[i].interval - 1;

		if (slots[i].interval && interval < first && last - interval < (uint64_t)type->max)
			first = interval;
	}
	*ret = first;
	return first <= last;
}
