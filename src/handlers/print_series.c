/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "print_series.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "wall_time.h"

enum { WIDTH = 53, LEFT = 21 };

/* As many digits behind the seconds as the interval has. */
static unsigned digits_of(const struct type *type)
{
	uint64_t part = (uint64_t)type->step % 1000000000;
	unsigned ret = 9;

	if (!part)
		return 0;
	while (part % 1000 == 0) {
		part /= 1000;
		ret -= 3;
	}
	return ret;
}

static void put_time(const char *format, uint64_t ns, unsigned digits, struct buf *out)
{
	char text[64], part[16];

	buf_put(out, text, wall_time(format, ns, text, sizeof text));
	snprintf(part, sizeof part, "%09u", (unsigned)(ns % 1000000000));
	if (digits)
		buf_printf(out, ".%.*s", (int)digits, part);
}

struct scale {
	int64_t min, max;
};

static struct scale scale_of(const struct type *type, const struct series_slot *slots, uint64_t first, uint64_t last)
{
	struct scale ret = { INT64_MAX, INT64_MIN };
	int64_t v;

	for (uint64_t i = first; i <= last; i++) {
		if (!series_find(type, slots, i, &v))
			continue;
		ret.min = v < ret.min ? v : ret.min;
		ret.max = v > ret.max ? v : ret.max;
	}
	if (ret.min == ret.max) { /* in the middle */
		ret.min -= ret.min > INT64_MIN;
		ret.max += ret.max < INT64_MAX;
	}
	return ret;
}

static unsigned column(const struct scale *s, int64_t v, unsigned width)
{
	/* differences of any two numbers are whole, and not 0, without a sign */
	uint64_t at = (uint64_t)v - (uint64_t)s->min, all = (uint64_t)s->max - (uint64_t)s->min;
	unsigned ret = (unsigned)((double)width * ((double)at / (double)all));

	return ret < WIDTH ? ret : WIDTH - 1;
}

/* "-5       5", above and below the columns */
static void put_ends(const struct scale *s, unsigned before, uint64_t div, struct buf *out)
{
	buf_printf(out, "%*s%-*" PRId64 "%*" PRId64 "\n", (int)before, "", LEFT, s->min / (int64_t)div, WIDTH - LEFT,
		   s->max / (int64_t)div);
}

static void put_rule(char end, struct buf *out)
{
	char rule[WIDTH + 1];

	memset(rule, '_', WIDTH);
	rule[0] = rule[WIDTH - 1] = end;
	rule[WIDTH] = 0;
	buf_printf(out, "%s\n", rule);
}

/* `v`: NULL if the interval has no value */
static void put_row(const struct scale *s, const int64_t *v, uint64_t div, struct buf *out)
{
	char row[WIDTH + 1];

	memset(row, ' ', WIDTH);
	row[0] = row[WIDTH - 1] = '|';
	row[WIDTH] = 0;
	if (s->min < 0 && s->max > 0)
		row[column(s, 0, WIDTH)] = '.';
	if (!v) {
		buf_printf(out, "%s -\n", row);
		return;
	}
	row[column(s, *v, WIDTH - 1)] = '*';
	buf_printf(out, "%s %" PRId64 "\n", row, *v / (int64_t)div);
}

uint64_t print_series_last(const struct script_map *m)
{
	uint64_t ret = 0, last;

	for (size_t i = 0; i < m->count; i++)
		if (m->entries[i].live && series_last(&m->value, m->entries[i].series, &last) && last > ret)
			ret = last;
	return ret;
}

void print_series(const struct script_map *m, const struct map_entry *e, uint64_t last, uint64_t div,
		  uint64_t began_ns, struct buf *out)
{
	static const char *const units[] = { "", ".ms", ".us", ".ns" };
	const struct type *type = &m->value;
	unsigned digits = digits_of(type), time = 8 + (digits ? 1 + digits : 0);
	struct scale s;
	uint64_t first;

	if (!series_first(type, e->series, last, &first)) {
		buf_printf(out, "<no data>\n");
		return;
	}
	s = scale_of(type, e->series, first, last);
	put_ends(&s, time + 1, div, out);
	buf_printf(out, "hh:mm:ss%-*s", (int)(time + 1 - 8), units[digits / 3]);
	put_rule('|', out);
	for (uint64_t i = first; i <= last; i++) {
		int64_t v;
		bool there = series_find(type, e->series, i, &v);

		put_time("%H:%M:%S", began_ns + i * (uint64_t)type->step, digits, out);
		buf_put_u8(out, ' ');
		put_row(&s, there ? &v : NULL, div, out);
	}
	buf_printf(out, "%*s", (int)(time + 1), "");
	put_rule('v', out);
	put_ends(&s, time + 1, div, out);
}

void print_series_json(const struct script_map *m, const struct map_entry *e, uint64_t last, uint64_t began_ns,
		       struct buf *out)
{
	uint64_t first;
	bool any = series_first(&m->value, e->series, last, &first);

	buf_put_u8(out, '[');
	for (uint64_t i = first; any && i <= last; i++) {
		int64_t v;

		buf_printf(out, "%s{\"interval_start\": \"", i > first ? ", " : "");
		put_time("%Y-%m-%dT%H:%M:%S", began_ns + i * (uint64_t)m->value.step, 9, out);
		if (series_find(&m->value, e->series, i, &v))
			buf_printf(out, "\", \"value\": %" PRId64 "}", v);
		else
			buf_printf(out, "\", \"value\": null}");
	}
	buf_put_u8(out, ']');
}
