/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view.h"

#include <libsmartcols.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "terminal.h"

enum { COLUMNS_MAX = 32 };

struct layout {
	unsigned columns[COLUMNS_MAX];
	unsigned n;
	bool json;
	size_t *rows; /* in the order of showing */
	size_t n_rows;
};

static int find_column(const struct view *view, const char *name, size_t len)
{
	for (int i = 0; view->columns[i].name; i++)
		if (strlen(view->columns[i].name) == len && !strncmp(view->columns[i].name, name, len))
			return i;
	return -1;
}

static int choose_columns(const struct view *view, const struct args *args, struct layout *l, struct error *err)
{
	const char *list = arg(args, "output");

	if (!list) {
		for (unsigned i = 0; view->columns[i].name; i++)
			if (l->json || !view->columns[i].hidden)
				l->columns[l->n++] = i;
		return 0;
	}
	while (l->n < COLUMNS_MAX) {
		size_t len = strcspn(list, ",");
		int i = find_column(view, list, len);

		if (i < 0)
			return error_set(err, "-o %.*s: no such column; '-o help' lists them", (int)len, list);
		l->columns[l->n++] = (unsigned)i;
		if (!list[len])
			break;
		list += len + 1;
	}
	return 0;
}

static void list_columns(const struct view *view)
{
	for (const struct column *c = view->columns; c->name; c++)
		printf("%-16s %s\n", c->name, c->help);
}

struct sort_key {
	size_t row;
	double number;
	char *text;
};

static int by_key(const void *va, const void *vb)
{
	const struct sort_key *a = va, *b = vb;

	if (a->text || b->text) {
		int c = strcmp(a->text ? a->text : "", b->text ? b->text : "");

		if (c)
			return c;
	} else if (a->number != b->number) {
		return a->number > b->number ? -1 : 1;
	}
	return a->row < b->row ? -1 : a->row > b->row;
}

static double number_of(const struct cell *c)
{
	switch (c->type) {
	case CELL_PERCENT:
		return c->percent;
	case CELL_NUMBER:
	case CELL_SECONDS:
		return c->negative ? (double)(int64_t)c->number : (double)c->number;
	default:
		return -1;
	}
}

static int sort_rows(const struct view *view, const struct args *args, struct layout *l, struct error *err)
{
	const char *by = arg(args, "sort") ? arg(args, "sort") : view->default_sort;
	bool reverse = by && *by == '-';
	struct buf scratch = { 0 };
	struct sort_key *keys;
	int column;

	l->rows = xcalloc(view->rows, sizeof *l->rows);
	l->n_rows = view->rows;
	for (size_t i = 0; i < view->rows; i++)
		l->rows[i] = i;
	if (!by)
		return 0;
	by += reverse;
	column = find_column(view, by, strlen(by));
	if (column < 0)
		return error_set(err, "-s %s: no such column; '-o help' lists them", by);
	keys = xcalloc(view->rows, sizeof *keys);
	for (size_t i = 0; i < view->rows; i++) {
		struct cell c = { 0 };

		scratch.len = 0;
		view->cell(view->data, i, (unsigned)column, &c, &scratch);
		keys[i] = (struct sort_key){ .row = i, .number = number_of(&c) };
		if (c.type == CELL_TEXT || c.type == CELL_LIST)
			keys[i].text = xstrdup(c.text ? c.text : "");
	}
	qsort(keys, view->rows, sizeof *keys, by_key);
	for (size_t i = 0; i < view->rows; i++) {
		l->rows[reverse ? view->rows - 1 - i : i] = keys[i].row;
		free(keys[i].text);
	}
	free(keys);
	buf_free(&scratch);
	return 0;
}

static int limit_rows(const struct args *args, struct layout *l, struct error *err)
{
	uint64_t n = l->json ? 0 : terminal_rows();

	if (arg_u64(args, "lines", &n, err) < 0)
		return -1;
	if (n && n < l->n_rows)
		l->n_rows = n;
	return 0;
}

static void format_cell(const struct cell *c, bool json, struct buf *out)
{
	out->len = 0;
	switch (c->type) {
	case CELL_NONE:
		break;
	case CELL_NUMBER:
		if (c->negative)
			buf_printf(out, "%lld", (long long)c->number);
		else
			buf_printf(out, "%llu", (unsigned long long)c->number);
		break;
	case CELL_PERCENT:
		buf_printf(out, json ? "%.6f" : "%.2f", c->percent);
		break;
	case CELL_SECONDS:
		if (json)
			buf_printf(out, "%llu", (unsigned long long)c->number);
		else
			buf_printf(out, "%.6f", (double)c->number / 1e9);
		break;
	case CELL_TEXT:
		if (json)
			buf_printf(out, "%s", c->text ? c->text : "");
		else
			buf_printf(out, "%*s", (int)c->indent, "");
		if (!json)
			terminal_escape(out, c->text ? c->text : "");
		break;
	case CELL_LIST:
		buf_printf(out, "%s", c->text ? c->text : "");
		for (size_t i = 0; !json && i < out->len; i++)
			if (out->data[i] == '\n')
				out->data[i] = ' ';
		break;
	}
	buf_put_u8(out, 0);
}

static int json_type(enum cell_type type)
{
	switch (type) {
	case CELL_TEXT:
		return SCOLS_JSON_STRING;
	case CELL_LIST:
		return SCOLS_JSON_ARRAY_NUMBER;
	default:
		return SCOLS_JSON_NUMBER;
	}
}

static void add_row(const struct view *view, const struct layout *l, size_t row, struct libscols_table *table,
		    struct buf *text, struct buf *scratch)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);

	for (unsigned i = 0; i < l->n; i++) {
		struct cell c = { 0 };

		scratch->len = 0;
		view->cell(view->data, row, l->columns[i], &c, scratch);
		if (c.type == CELL_NONE)
			continue;
		scols_column_set_json_type(scols_table_get_column(table, i), json_type(c.type));
		format_cell(&c, l->json, text);
		scols_line_set_data(line, i, (char *)text->data);
	}
}

static void add_columns(const struct view *view, const struct layout *l, struct libscols_table *table)
{
	for (unsigned i = 0; i < l->n; i++) {
		const struct column *c = &view->columns[l->columns[i]];
		int flags = c->left ? 0 : SCOLS_FL_RIGHT;
		struct libscols_column *column =
			scols_table_new_column(table, l->json ? c->name : c->title, 0, flags);

		if (!l->json && terminal_colour())
			scols_cell_set_color(scols_column_get_header(column), "\033[1m");
		if (!l->json || !c->list)
			continue;
		/* JSON's arrays come out of multi-line cells */
		scols_column_set_flags(column, SCOLS_FL_WRAP);
		scols_column_set_safechars(column, "\n");
		scols_column_set_wrapfunc(column, scols_wrapnl_chunksize, scols_wrapnl_nextchunk, NULL);
	}
}

static int draw(const struct view *view, const struct layout *l)
{
	struct libscols_table *table = scols_new_table();
	struct buf text = { 0 }, scratch = { 0 };
	int r;

	scols_table_set_name(table, view->name);
	scols_table_enable_json(table, l->json);
	scols_table_enable_maxout(table, 0);
	scols_table_set_stream(table, stdout);
	scols_table_set_termforce(table, SCOLS_TERMFORCE_NEVER);
	scols_table_enable_colors(table, !l->json && terminal_colour());
	add_columns(view, l, table);
	for (size_t i = 0; i < l->n_rows; i++)
		add_row(view, l, l->rows[i], table, &text, &scratch);
	r = scols_print_table(table);
	if (l->json)
		putchar('\n');
	scols_unref_table(table);
	buf_free(&text);
	buf_free(&scratch);
	return r;
}

int view_print(const struct view *view, const struct args *args, struct error *err)
{
	struct layout l = { .json = arg(args, "json") };
	const char *output = arg(args, "output");

	if (output && !strcmp(output, "help")) {
		list_columns(view);
		return EXIT_OK;
	}
	if (choose_columns(view, args, &l, err) < 0 || sort_rows(view, args, &l, err) < 0 ||
	    limit_rows(args, &l, err) < 0) {
		free(l.rows);
		return EXIT_USAGE;
	}
	terminal_end_progress();
	if (!l.json)
		terminal_start_pager();
	if (!l.json && view->heading)
		puts(view->heading);
	if (!l.n_rows && l.json)
		printf("{\n   \"%s\": []\n}\n", view->name);
	else
		draw(view, &l);
	if (!l.json && l.n_rows < view->rows)
		terminal_note("%zu more lines; -n 0 shows all", view->rows - l.n_rows);
	free(l.rows);
	return EXIT_OK;
}
