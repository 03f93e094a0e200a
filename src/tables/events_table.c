/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "events_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum { KEY, COUNT, SUM, AVERAGE, MIN, MAX, HISTOGRAM, SUM_COLUMNS };

const struct column event_sums_columns[] = {
	[KEY] = { "KEY", "KEY", CELL_TEXT, "for each key a column of its name" },
	[COUNT] = { "count", "COUNT", CELL_COUNT, "how many records have these values" },
	[SUM] = { "sum", "SUM", CELL_COUNT, "with --value: of the field, all of them; those below 0 are left out" },
	[AVERAGE] = { "average", "AVERAGE", CELL_COUNT, "likewise" },
	[MIN] = { "min", "MIN", CELL_COUNT, "the smallest" },
	[MAX] = { "max", "MAX", CELL_COUNT, "the largest" },
	[HISTOGRAM] = { "histogram", "HISTOGRAM", CELL_LIST,
			"how many are 0, 1, 2 to 3, 4 to 7 …: the first value of each, and how many", .hidden = true },
	{ 0 },
};

/* The table's columns are made for its keys. */
struct sums_data {
	const struct event_sums *sums;
	struct column columns[EVENT_KEYS_MAX + SUM_COLUMNS + 1];
};

static struct cell histogram_cell(const struct event_histogram *h, struct buf *scratch)
{
	for (unsigned i = 0; i < EVENT_BUCKETS; i++)
		if (h->buckets[i])
			buf_printf(scratch, "%s%" PRIu64 ": %" PRIu64, scratch->len ? "\n" : "", event_bucket_from(i),
				   h->buckets[i]);
	return cell_scratch(CELL_LIST, scratch);
}

static struct cell sum_cell(const void *data, size_t row, unsigned column, struct buf *scratch)
{
	const struct sums_data *d = data;
	const struct event_sum *s = &d->sums->list[row];
	const struct event_histogram *h = &s->values;

	if (column < d->sums->keys.count)
		return s->keys[column] ? cell_text(s->keys[column]) : cell_none();
	switch (column - d->sums->keys.count + 1) {
	case COUNT:
		return cell_count(s->count);
	case SUM:
		return h->count ? cell_count(h->sum) : cell_none();
	case AVERAGE:
		return h->count ? cell_count(h->sum / h->count) : cell_none();
	case MIN:
		return h->count ? cell_count(h->min) : cell_none();
	case MAX:
		return h->count ? cell_count(h->max) : cell_none();
	default:
		return histogram_cell(h, scratch);
	}
}

static void free_sums_data(void *data)
{
	struct sums_data *d = data;

	for (unsigned i = 0; i < d->sums->keys.count; i++)
		free((char *)d->columns[i].title);
	free(d);
}

static char *title_of(const char *key)
{
	char *title = xstrdup(key);

	for (char *c = title; *c; c++)
		*c = *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
	return title;
}

void event_sums_table_init(struct table *ret, const struct event_sums *sums, bool has_value)
{
	struct sums_data *d = xcalloc(1, sizeof *d);
	unsigned n = sums->keys.count;

	d->sums = sums;
	for (unsigned i = 0; i < n; i++)
		d->columns[i] = (struct column){
			sums->keys.names[i],
			title_of(sums->keys.names[i]),
			CELL_TEXT,
			"what records have there",
		};
	memcpy(d->columns + n, event_sums_columns + COUNT, (has_value ? SUM_COLUMNS - COUNT : 1) * sizeof *d->columns);
	*ret = (struct table){
		.name = "sums",
		.what = "events",
		.columns = d->columns,
		.rows = sums->count,
		.cell = sum_cell,
		.data = d,
		.free = free_sums_data,
	};
}

enum { START, DURATION, PID, COMM, CPU, EVENT, TEXT, END_COMM, END_TEXT, STACK };

const struct column event_pairs_columns[] = {
	[START] = { "start_ns", "TIME S", CELL_SECONDS, "guest time of the record that began it, in seconds" },
	[DURATION] = { "duration_ns", "DURATION", CELL_DURATION, "up to the record that ended it; none: nothing did" },
	[PID] = { "pid", "PID", CELL_NUMBER, "thread that ran then" },
	[COMM] = { "comm", "PROCESS", CELL_TEXT, "its name then" },
	[CPU] = { "cpu", "CPU", CELL_NUMBER, "vCPU that it ran on", .hidden = true },
	[EVENT] = { "event", "EVENT", CELL_TEXT, "that began it; where nothing did, that ended it", .hidden = true },
	[TEXT] = { "text", "BEGAN WITH", CELL_TEXT, "what the first record says" },
	[END_COMM] = { "end_comm", "ENDED BY", CELL_TEXT, "name of the thread that ran as it ended", .hidden = true },
	[END_TEXT] = { "end_text", "ENDED WITH", CELL_TEXT, "what the record says that ended it", .hidden = true },
	[STACK] = { "stack", "STACK", CELL_TEXT,
		    "with --stack: the calls that the first record was made in, the innermost first", .hidden = true },
	{ 0 },
};

struct pairs_data {
	const struct event_sources *of;
	struct column columns[sizeof event_pairs_columns / sizeof *event_pairs_columns];
	const struct event_pair *list[];
};

static struct cell text_of(const struct event_sources *of, const struct fact *f, struct buf *scratch)
{
	struct event_record r;

	if (!f || !event_record_of(of->formats, f, &r))
		return cell_none();
	event_put_text(of->decoder, &r, scratch);
	return cell_scratch(CELL_TEXT, scratch);
}

static struct cell pair_cell(const void *data, size_t row, unsigned column, struct buf *scratch)
{
	const struct pairs_data *d = data;
	const struct event_pair *p = d->list[row];
	const struct fact *f = p->begin ? p->begin : p->end;
	struct event_record r;

	event_record_of(d->of->formats, f, &r);
	switch (column) {
	case START:
		return p->begin ? cell_seconds(f->ns) : cell_none();
	case DURATION:
		return p->begin && p->end ? cell_duration(p->end->ns - p->begin->ns) : cell_none();
	case PID:
		return cell_pid(event_record_pid(&r));
	case COMM:
		return cell_text(event_comm(d->of->threads, f));
	case CPU:
		return cell_number(f->cpu);
	case EVENT:
		buf_printf(scratch, "%s:%s", d->of->formats->list[r.event].system, d->of->formats->list[r.event].name);
		return cell_scratch(CELL_TEXT, scratch);
	case TEXT:
		return text_of(d->of, p->begin, scratch);
	case END_COMM:
		return p->end ? cell_text(event_comm(d->of->threads, p->end)) : cell_none();
	case STACK:
		return d->of->stacks && event_stack(d->of->stacks, f) ? cell_text(event_stack(d->of->stacks, f)) :
									cell_none();
	default:
		return text_of(d->of, p->end, scratch);
	}
}

void event_pairs_table_init(struct table *ret, const struct event_pairs *pairs, const struct event_sources *of,
			    const bool *marks)
{
	struct pairs_data *d = xcalloc(1, sizeof *d + pairs->count * sizeof *d->list);
	size_t rows = 0;

	d->of = of;
	memcpy(d->columns, event_pairs_columns, sizeof d->columns);
	d->columns[STACK].hidden = !of->stacks;
	for (size_t i = 0; i < pairs->count; i++)
		if (marks[i])
			d->list[rows++] = &pairs->list[i];
	*ret = (struct table){
		.name = "pairs",
		.what = "pairs",
		.columns = d->columns,
		.rows = rows,
		.cell = pair_cell,
		.data = d,
		.free = free,
	};
}

void event_histogram_put(const struct event_histogram *h, struct buf *out)
{
	enum { WIDTH = 40 };
	unsigned first = 0, last = EVENT_BUCKETS - 1;
	uint64_t most = 1;

	while (first < last && !h->buckets[first])
		first++;
	while (last > first && !h->buckets[last])
		last--;
	for (unsigned i = first; i <= last; i++)
		most = h->buckets[i] > most ? h->buckets[i] : most;
	for (unsigned i = first; i <= last; i++) {
		uint64_t from = event_bucket_from(i), to = i ? from + (from - 1) : 0;
		int filled = (int)(h->buckets[i] * WIDTH / most);

		if (from == to)
			buf_printf(out, "%41" PRIu64, from);
		else
			buf_printf(out, "%18" PRIu64 " to %19" PRIu64, from, to);
		buf_printf(out, " %12" PRIu64 " |", h->buckets[i]);
		for (int k = 0; k < WIDTH; k++)
			buf_put_u8(out, k < filled ? '@' : ' ');
		buf_printf(out, "|\n");
	}
}
