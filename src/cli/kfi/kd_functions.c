/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/print/json_output.h"
#include "kd_functions.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>


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

static void put_json(struct json *j, const struct kfi_log *log, const struct kd_sum *s)
{
	json_object(j, NULL);
	json_text(j, "function", kfi_log_name(log, s->function));
	json_number(j, "count", s->count);
	json_number(j, "no_exit", s->count - s->timed);
	json_number(j, "total_ns", s->total_ns);
	json_number(j, "average_ns", s->average_ns);
	json_number(j, "shortest_ns", s->min_ns);
	json_number(j, "longest_ns", s->max_ns);
	json_number(j, "sub_ns", s->sub_ns);
	json_signed(j, "local_ns", s->local_ns);
	json_array(j, "subs");
	for (size_t i = 0; i < s->n_subs; i++) {
		json_object(j, NULL);
		json_text(j, "function", kfi_log_name(log, s->subs[i].function));
		json_number(j, "count", s->subs[i].count);
		json_number(j, "total_ns", s->subs[i].total_ns);
		json_close(j);
	}
	json_close(j);
	json_close(j);
}

void kd_functions_print(const struct kfi_log *log, struct kd_sums *sums, const struct kd_functions_options *options)
{
	struct buf line = { 0 };
	uint64_t shown = 0;
	struct json j;

	sorting.log = log;
	sorting.by = options->sort;
	if (sums->count)
		qsort(sums->list, sums->count, sizeof *sums->list, by_key);
	if (options->json) {
		json_output_begin(&j);
		json_object(&j, NULL);
		kd_put_header_json(&j, log);
		json_rows(&j, "functions");
	} else {
		kd_put_titles(&line, kd_function_columns, options->letters, NULL);
	}
	for (size_t i = 0; i < sums->count && shown < options->lines; i++) {
		const struct kd_sum *s = &sums->list[i];

		if (options->has_min && s->total_ns / 1000 <= options->more_than_us)
			continue;
		if (options->json)
			put_json(&j, log, s);
		else
			print_function(log, s, options, &line);
		shown++;
	}
	if (options->json) {
		json_close(&j);
		json_close(&j);
		json_output_end(&j);
	}
	buf_free(&line);
}
