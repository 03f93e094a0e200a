/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kd_functions.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/print/json.h"

const struct kd_column kd_function_columns[] = {
	{ 'F', "Function", 35, true },
	{ 'c', "Count", 5, false },
	{ 't', "Time", 8, false },
	{ 'a', "Average", 8, false },
	{ 'r', "Range", 20, false },
	{ 's', "Sub-time", 8, false },
	{ 'l', "Local", 8, false },
	{ 'm', "Max-sub", 35, true },
	{ 'n', "Ms count", 8, false },
	{ 'u', "Sub list", 8, true },
	{ 0 },
};

static struct {
	const struct kfi_log *log;
	char by;
} sorting;

static int64_t sort_key(const struct kd_sum *s)
{
	switch (sorting.by) {
	case 'c':
		return (int64_t)s->count;
	case 't':
		return (int64_t)s->total_ns;
	case 'a':
		return (int64_t)s->average_ns / 1000; /* what is shown as equal is in the order of names */
	case 's':
		return (int64_t)s->sub_ns;
	case 'l':
		return s->local_ns;
	}
	return 0;
}

/* The largest first; what is equal, and -s F, by name. */
static int by_key(const void *va, const void *vb)
{
	const struct kd_sum *a = va, *b = vb;
	int64_t ka = sort_key(a), kb = sort_key(b);

	if (ka != kb)
		return ka > kb ? -1 : 1;
	return strcmp(kfi_log_name(sorting.log, a->function), kfi_log_name(sorting.log, b->function));
}

static void put_range(struct buf *line, const struct kd_column *column, const struct kd_sum *s)
{
	char range[64];

	snprintf(range, sizeof range, "(%" PRIu64 "-%" PRIu64 ")", s->min_ns / 1000, s->max_ns / 1000);
	kd_put_text(line, column, range);
}

/* "alloc_pidmap:1:6,copy_mm:1:5": count and time of each */
static void put_subs(struct buf *line, const struct kd_column *column, const struct kfi_log *log,
		     const struct kd_sum *s)
{
	struct buf text = { 0 };

	for (size_t i = 0; i < s->n_subs; i++)
		buf_printf(&text, "%s%s:%" PRIu64 ":%" PRIu64, i ? "," : "", kfi_log_name(log, s->subs[i].function),
			   s->subs[i].count, s->subs[i].total_ns / 1000);
	if (!text.len)
		buf_put_u8(&text, '-');
	buf_put_u8(&text, 0);
	kd_put_text(line, column, (char *)text.data);
	buf_free(&text);
}

static void put_cell(struct buf *line, const struct kd_column *column, const struct kfi_log *log,
		     const struct kd_sum *s)
{
	switch (column->letter) {
	case 'F':
		kd_put_text(line, column, kfi_log_name(log, s->function));
		break;
	case 'c':
		kd_put_number(line, column, (int64_t)s->count);
		break;
	case 't':
		kd_put_number(line, column, (int64_t)s->total_ns / 1000);
		break;
	case 'a':
		kd_put_number(line, column, (int64_t)s->average_ns / 1000);
		break;
	case 'r':
		put_range(line, column, s);
		break;
	case 's':
		kd_put_number(line, column, (int64_t)s->sub_ns / 1000);
		break;
	case 'l':
		kd_put_number(line, column, s->local_ns / 1000);
		break;
	case 'm':
		kd_put_text(line, column, s->n_subs ? kfi_log_name(log, s->subs->function) : "-");
		break;
	case 'n':
		kd_put_number(line, column, s->n_subs ? (int64_t)s->subs->count : 0);
		break;
	case 'u':
		put_subs(line, column, log, s);
		break;
	}
}

static void print_function(const struct kfi_log *log, const struct kd_sum *s,
			   const struct kd_functions_options *options, struct buf *line)
{
	for (const char *l = options->letters; *l; l++)
		put_cell(line, kd_column_find(kd_function_columns, *l), log, s);
	kd_print_line(line);
}

static void print_json(const struct kfi_log *log, const struct kd_sum *s)
{
	printf("{\"function\":");
	json_string(stdout, kfi_log_name(log, s->function));
	printf(",\"count\":%" PRIu64 ",\"no_exit\":%" PRIu64 ",\"total_ns\":%" PRIu64 ",\"average_ns\":%" PRIu64
	       ",\"shortest_ns\":%" PRIu64 ",\"longest_ns\":%" PRIu64 ",\"sub_ns\":%" PRIu64 ",\"local_ns\":%" PRId64
	       ",\"subs\":[",
	       s->count, s->count - s->timed, s->total_ns, s->average_ns, s->min_ns, s->max_ns, s->sub_ns, s->local_ns);
	for (size_t i = 0; i < s->n_subs; i++) {
		printf("%s{\"function\":", i ? "," : "");
		json_string(stdout, kfi_log_name(log, s->subs[i].function));
		printf(",\"count\":%" PRIu64 ",\"total_ns\":%" PRIu64 "}", s->subs[i].count, s->subs[i].total_ns);
	}
	printf("]}");
}

void kd_functions_print(const struct kfi_log *log, struct kd_sums *sums, const struct kd_functions_options *options)
{
	struct buf line = { 0 };
	uint64_t shown = 0;

	sorting.log = log;
	sorting.by = options->sort;
	if (sums->count)
		qsort(sums->list, sums->count, sizeof *sums->list, by_key);
	if (options->json) {
		putchar('{');
		kd_print_header_json(log);
		printf(",\"functions\":[");
	} else {
		kd_put_titles(&line, kd_function_columns, options->letters, NULL);
	}
	for (size_t i = 0; i < sums->count && shown < options->lines; i++) {
		const struct kd_sum *s = &sums->list[i];

		if (options->has_min && s->total_ns / 1000 <= options->more_than_us)
			continue;
		if (options->json) {
			fputs(shown ? ",\n" : "\n", stdout);
			print_json(log, s);
		} else {
			print_function(log, s, options, &line);
		}
		shown++;
	}
	if (options->json)
		puts("\n]}");
	buf_free(&line);
}
