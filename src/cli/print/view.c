/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <libsmartcols.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "cli/args/instruments_arg.h"
#include "cli/args/trace_lacks.h"
#include "base/near.h"
#include "empty.h"
#include "json_output.h"
#include "left_out_note.h"
#include "quantity.h"
#include "tables/table_json.h"
#include "terminal.h"

enum { COLUMNS_MAX = 32 };

struct view_layout {
	unsigned columns[COLUMNS_MAX];
	size_t widths[COLUMNS_MAX]; /* of each of these; SIZE_MAX: as wide as it is */
	unsigned n;
	bool lacks[COLUMNS_MAX]; /* the trace does not have what the column is of */
	bool json, exact;
	bool left_out; /* the table lacks calls */
	size_t *rows;  /* in the order of showing */
	size_t n_rows;
};

/* Titles are names, too: "SELF INSNS" is self_insns. */
static bool is_called(const char *column, const char *name, size_t len)
{
	size_t i = 0;

	for (; i < len && column[i]; i++) {
		char a = column[i] == ' ' ? '_' : column[i], b = name[i] == ' ' || name[i] == '-' ? '_' : name[i];

		if (tolower((unsigned char)a) != tolower((unsigned char)b))
			return false;
	}
	return i == len && !column[i];
}

static int find_column(const struct view *view, const char *name, size_t len)
{
	for (int i = 0; view->table->columns[i].name; i++)
		if (is_called(view->table->columns[i].name, name, len) ||
		    is_called(view->table->columns[i].title, name, len))
			return i;
	return -1;
}

static int no_column(const struct view *view, char option, const char *name, size_t len, struct error *err)
{
	struct buf similar = { 0 };
	struct near near;

	near_init(&near, name, len);
	for (const struct column *c = view->table->columns; c->name; c++)
		near_offer(&near, c->name);
	near_put(&near, &similar);
	for (const struct column *c = view->table->columns; !near.count && c->name; c++)
		buf_printf(&similar, "%s%s", c == view->table->columns ? "; there are: " : ", ", c->name);
	buf_put_u8(&similar, 0);
	error_set(err, "-%c %.*s: no such column%s; '-o help' explains them", option, (int)len, name,
		  (char *)similar.data);
	buf_free(&similar);
	near_deinit(&near);
	return -1;
}

/* What the trace does not have that the column is of; NULL: nothing. */
static const char *lacks_of(const struct view *view, unsigned column)
{
	const struct column *c = &view->table->columns[column];

	if (strstr(c->name, "insns") && trace_lacks(view->trace, "instructions"))
		return "instructions";
	return c->type == CELL_ADDRESS && trace_lacks(view->trace, "addresses") ? "addresses" : NULL;
}

/* The columns of the list, one of which need not be there. */
static int check_columns(const struct view *view, const char *list, struct error *err)
{
	for (size_t len; list && *list; list += len + (list[len] == ',')) {
		int i;

		list += *list == '-';
		len = strcspn(list, ",");
		i = find_column(view, list, len);
		if (i >= 0 && lacks_of(view, (unsigned)i))
			return trace_need(view->trace, lacks_of(view, (unsigned)i), err);
	}
	return 0;
}

static int choose_columns(const struct view *view, const struct args *args, struct view_layout *l, struct error *err)
{
	const char *list = arg(args, "output");

	if (!list && !l->json)
		list = view->default_output;
	if (!list) {
		for (unsigned i = 0; view->table->columns[i].name; i++)
			if (l->json ? !(view->table->nothing >> i & 1)
				    : !view->table->columns[i].hidden && !l->lacks[i])
				l->columns[l->n++] = i;
		return 0;
	}
	while (l->n < COLUMNS_MAX) {
		size_t len = strcspn(list, ",");
		int i = find_column(view, list, len);

		if (i < 0)
			return no_column(view, 'o', list, len, err);
		if (!l->lacks[i])
			l->columns[l->n++] = (unsigned)i;
		if (!list[len])
			break;
		list += len + 1;
	}
	return 0;
}

static struct cell cell_at(const struct view *view, const struct view_layout *l, size_t row, unsigned column,
			   struct buf *scratch)
{
	struct cell c;

	scratch->len = 0;
	if (l->lacks[column])
		return cell_none();
	c = view->table->cell(view->table->data, row, column, scratch);
	assert(c.type == CELL_NONE || c.type == view->table->columns[column].type);
	return c;
}

/* Is there nothing to show? */
static bool is_empty(const struct cell *c)
{
	return c->type == CELL_NONE && !c->text;
}

struct sort_key {
	size_t row;
	long double number; /* has all 64 bits of a whole number, as addresses of a kernel need them */
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

static long double number_of(const struct cell *c)
{
	switch (c->type) {
	case CELL_PERCENT:
		return c->percent;
	case CELL_NUMBER:
	case CELL_COUNT:
	case CELL_AMOUNT:
	case CELL_SECONDS:
	case CELL_DURATION:
	case CELL_ADDRESS:
		return c->negative ? (long double)(int64_t)c->number : (long double)c->number;
	default:
		return -1;
	}
}

static int sort_rows(const struct view *view, const struct args *args, struct view_layout *l, struct error *err)
{
	const char *by = arg(args, "sort") ? arg(args, "sort") : view->default_sort;
	bool reverse = by && *by == '-';
	struct buf scratch = { 0 };
	struct sort_key *keys;
	int column;

	l->rows = xcalloc(view->table->rows, sizeof *l->rows);
	l->n_rows = view->table->rows;
	for (size_t i = 0; i < view->table->rows; i++)
		l->rows[i] = i;
	if (!by)
		return 0;
	by += reverse;
	column = find_column(view, by, strlen(by));
	if (column < 0)
		return no_column(view, 's', by, strlen(by), err);
	keys = xcalloc(view->table->rows, sizeof *keys);
	for (size_t i = 0; i < view->table->rows; i++) {
		struct cell c = cell_at(view, l, i, (unsigned)column, &scratch);

		keys[i] = (struct sort_key){ .row = i, .number = number_of(&c) };
		if (c.text && !is_empty(&c))
			keys[i].text = xstrdup(c.text);
	}
	qsort(keys, view->table->rows, sizeof *keys, by_key);
	for (size_t i = 0; i < view->table->rows; i++) {
		l->rows[reverse ? view->table->rows - 1 - i : i] = keys[i].row;
		free(keys[i].text);
	}
	free(keys);
	buf_free(&scratch);
	return 0;
}

static int limit_rows(const struct view *view, const struct args *args, struct view_layout *l, struct error *err)
{
	uint64_t n = l->json ? 0 : terminal_rows();

	/* room for one line of a heading is left in any case */
	if ((l->left_out || view->trace->in_pass) && view->heading)
		n -= n > 1;
	for (const char *at = view->heading; at && (at = strchr(at, '\n')) != NULL; at++)
		n -= n > 1;

	if (arg_u64(args, "lines", &n, err) < 0)
		return -1;
	if (n && n < l->n_rows)
		l->n_rows = n;
	return 0;
}

/* One item after the other, with control characters escaped: names are the guest's. */
static void put_items(struct buf *out, const char *lines)
{
	struct buf row = { 0 };

	for (; *lines; lines++)
		buf_put_u8(&row, *lines == '\n' ? ' ' : (uint8_t)*lines);
	buf_put_u8(&row, 0);
	terminal_escape(out, (char *)row.data);
	buf_free(&row);
}

/* Append a cell's text: indented, with control characters escaped, and without its middle if it is too wide. */
static void put_cut_text(struct buf *out, const struct cell *c, size_t width)
{
	enum { NAME_MIN = 12 }; /* columns that a deeply indented name keeps */
	size_t indent = c->indent;
	struct buf safe = { 0 };

	if (c->type == CELL_LIST)
		put_items(&safe, c->text ? c->text : "");
	else
		terminal_escape(&safe, c->text ? c->text : "");
	buf_printf(&safe, "%s", c->mark ? c->mark : "");
	buf_put_u8(&safe, 0);
	if (indent + NAME_MIN > width)
		indent = width > NAME_MIN ? width - NAME_MIN : 0;
	buf_printf(out, "%*s", (int)indent, "");
	utf8_put_cut(out, (char *)safe.data, width == SIZE_MAX ? width : width - indent);
	buf_free(&safe);
}

static void put_whole_number(struct buf *out, const struct cell *c)
{
	if (c->negative)
		buf_printf(out, "%" PRId64, (int64_t)c->number);
	else
		buf_printf(out, "%" PRIu64, c->number);
}

static void format_exactly(const struct cell *c, struct buf *out)
{
	if (c->type == CELL_SECONDS || c->type == CELL_DURATION)
		put_exact_seconds(out, c->number);
	else
		put_whole_number(out, c);
}

static void format_for_people(const struct cell *c, bool exact, size_t width, struct buf *out)
{
	switch (c->type) {
	case CELL_NONE:
		buf_printf(out, "%s", c->text ? c->text : "");
		break;
	case CELL_NUMBER:
		put_whole_number(out, c);
		break;
	case CELL_COUNT:
		exact ? format_exactly(c, out) : put_count(out, c->number);
		break;
	case CELL_AMOUNT:
		exact ? format_exactly(c, out) : put_amount(out, c->number, true);
		break;
	case CELL_SECONDS:
		exact ? format_exactly(c, out) : put_moment(out, c->number);
		break;
	case CELL_DURATION:
		exact ? format_exactly(c, out) : put_duration(out, c->number, true);
		break;
	case CELL_PERCENT:
		buf_printf(out, "%.2f", c->percent);
		break;
	case CELL_ADDRESS:
		buf_printf(out, "0x%" PRIx64, c->number);
		break;
	case CELL_TEXT:
	case CELL_LIST:
		put_cut_text(out, c, width);
		break;
	}
}

static void format_cell(const struct cell *c, const struct view_layout *l, unsigned column, struct buf *out)
{
	out->len = 0;
	format_for_people(c, l->exact, l->widths[column], out);
	buf_put_u8(out, 0);
}

static bool is_left(enum cell_type type)
{
	return type == CELL_TEXT || type == CELL_LIST || type == CELL_ADDRESS;
}

static void add_row(const struct view *view, const struct view_layout *l, size_t row, struct libscols_table *table,
		    struct buf *text, struct buf *scratch)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);

	for (unsigned i = 0; i < l->n; i++) {
		struct cell c = cell_at(view, l, row, l->columns[i], scratch);

		if (is_empty(&c))
			continue;
		format_cell(&c, l, i, text);
		scols_line_set_data(line, i, (char *)text->data);
	}
}

static void add_columns(const struct view *view, const struct view_layout *l, struct libscols_table *table)
{
	for (unsigned i = 0; i < l->n; i++) {
		const struct column *c = &view->table->columns[l->columns[i]];
		int flags = is_left(c->type) ? 0 : SCOLS_FL_RIGHT;
		struct libscols_column *column = scols_table_new_column(table, c->title, 0, flags);

		if (terminal_colour())
			scols_cell_set_color(scols_column_get_header(column), "\033[1m");
	}
}

/* The width that a column would need. */
static size_t natural_width(const struct view *view, const struct view_layout *l, unsigned column, struct buf *text,
			    struct buf *scratch)
{
	size_t widest = utf8_width(view->table->columns[l->columns[column]].title);

	for (size_t i = 0; i < l->n_rows; i++) {
		struct cell c = cell_at(view, l, l->rows[i], l->columns[column], scratch);
		size_t width;

		format_cell(&c, l, column, text);
		width = utf8_width((char *)text->data);
		widest = width > widest ? width : widest;
	}
	return widest;
}

/* Narrow the widest column of text by one letter at a time, until all columns fit. */
static void shrink(const struct view *view, struct view_layout *l, const size_t *natural, size_t terminal)
{
	enum { LEAST = 12 };
	size_t all = l->n - 1;

	for (unsigned i = 0; i < l->n; i++)
		all += l->widths[i] = natural[i];
	while (all > terminal) {
		unsigned widest = l->n;

		for (unsigned i = 0; i < l->n; i++)
			if (is_left(view->table->columns[l->columns[i]].type) && l->widths[i] > LEAST &&
			    (widest == l->n || l->widths[i] > l->widths[widest]))
				widest = i;
		if (widest == l->n)
			return;
		l->widths[widest]--;
		all--;
	}
}

/* On a terminal each row is one line. */
static void fit_columns(const struct view *view, const struct args *args, struct view_layout *l)
{
	size_t natural[COLUMNS_MAX], terminal = l->json || arg(args, "wide") ? 0 : terminal_columns();
	struct buf text = { 0 }, scratch = { 0 };

	for (unsigned i = 0; i < l->n; i++)
		l->widths[i] = SIZE_MAX;
	if (!terminal)
		return;
	for (unsigned i = 0; i < l->n; i++)
		natural[i] = natural_width(view, l, i, &text, &scratch);
	shrink(view, l, natural, terminal);
	buf_free(&text);
	buf_free(&scratch);
}

/* libsmartcols prints nothing for a table without rows. */
static void print_titles(const struct view *view, const struct view_layout *l)
{
	for (unsigned i = 0; i < l->n; i++)
		printf("%s%s", i ? " " : "", view->table->columns[l->columns[i]].title);
	putchar('\n');
}

/* What goes before the rows is what calls were left out, and what instruments cost. */
static void print_json(const struct view *view, const struct view_layout *l)
{
	struct json j;

	json_output_begin(&j);
	json_object(&j, NULL);
	if (l->left_out)
		left_out_put_json(&j, view->trace);
	instruments_put_json(&j, view->trace);
	table_put_json(&j, view->table, l->rows, l->n_rows, l->columns, l->n, l->lacks);
	json_close(&j);
	json_output_end(&j);
}

/* An exit status. */
static int draw(const struct view *view, const struct view_layout *l, struct error *err)
{
	struct libscols_table *table = scols_new_table();
	struct buf text = { 0 }, scratch = { 0 };
	int r;

	scols_table_set_name(table, view->table->name);
	scols_table_enable_maxout(table, 0);
	scols_table_set_stream(table, stdout);
	scols_table_set_termforce(table, SCOLS_TERMFORCE_NEVER);
	/* cells are escaped already */
	scols_table_enable_noencoding(table, 1);
	scols_table_enable_colors(table, terminal_colour());
	add_columns(view, l, table);
	for (size_t i = 0; i < l->n_rows; i++)
		add_row(view, l, l->rows[i], table, &text, &scratch);
	r = scols_print_table(table);
	scols_unref_table(table);
	buf_free(&text);
	buf_free(&scratch);
	if (r >= 0 || ferror(stdout))
		return EXIT_OK; /* main() reports errors of standard output */
	error_set(err, "the table cannot be drawn: %s", strerror(-r));
	return EXIT_FAILED;
}

static void put_heading_duration(struct buf *out, const struct args *args, uint64_t ns)
{
	if (arg(args, "exact")) {
		put_exact_seconds(out, ns);
		buf_printf(out, " s");
	} else {
		put_duration(out, ns, false);
	}
}

static void put_heading_insns(struct buf *out, const struct args *args, uint64_t insns)
{
	if (arg(args, "exact"))
		buf_printf(out, "%" PRIu64, insns);
	else
		put_amount(out, insns, false);
	buf_printf(out, insns == 1 ? " instruction in " : " instructions in ");
}

void view_put_time(struct buf *out, const struct args *args, const struct trace_arg *t, uint64_t insns, uint64_t ns,
		   uint64_t halted_ns)
{
	if (!trace_lacks(t, "instructions"))
		put_heading_insns(out, args, insns);
	put_heading_duration(out, args, ns);
	/* of a program's threads, which were not on CPUs that one knows of */
	if (meta_get(&t->reader->meta, "program.pid")) {
		buf_printf(out, " of its threads' time");
		return;
	}
	buf_printf(out, " of guest time");
	/* of chosen threads that never were idle it says nothing */
	if (halted_ns == UINT64_MAX || (t->in_pass && !halted_ns))
		return;
	buf_printf(out, ", halted ");
	put_heading_duration(out, args, halted_ns);
	buf_printf(out, " more");
}

static void print_heading_lines(const char *heading, size_t columns)
{
	struct buf lines = { 0 };

	for (size_t n; *heading; heading += n + (heading[n] == '\n')) {
		char *line;

		n = strcspn(heading, "\n");
		line = xstrndup(heading, n);
		utf8_put_start(&lines, line, columns ? columns : SIZE_MAX);
		buf_put_u8(&lines, '\n');
		free(line);
	}
	if (lines.len) /* else there is no memory */
		fwrite(lines.data, 1, lines.len, stdout);
	buf_free(&lines);
}

/* Are calls left out whose time somebody else has? That outside of --below nobody has. */
static bool gives_time_away(const struct fold *f)
{
	return f && (f->marks || f->depth || f->no_interrupts || (f->only_interrupts && !f->below));
}

static void print_heading(const struct view *view, const struct args *args, const struct view_layout *l)
{
	size_t columns = arg(args, "wide") ? 0 : terminal_columns();
	struct buf note = { 0 };

	if (view->heading)
		print_heading_lines(view->heading, columns);
	if (view->heading && view->trace->in_pass) {
		buf_printf(&note, "# only ");
		terminal_escape(&note, view->trace->in_pass);
		if (gives_time_away(view->trace->session.fold))
			buf_printf(&note, "; the time of other calls is that of who called them");
		buf_put_u8(&note, 0);
		print_heading_lines((char *)note.data, columns);
		note.len = 0;
	}
	instruments_put_costs(view->trace, &note);
	if (view->heading && note.len) {
		buf_put_u8(&note, 0);
		print_heading_lines((char *)note.data, columns);
	}
	note.len = 0;
	if (!l->left_out || arg(args, "output")) {
		buf_free(&note);
		return;
	}
	buf_printf(&note, "# ");
	left_out_put(&note, args, view->trace);
	buf_printf(&note, "%s", view->left_out);
	buf_put_u8(&note, 0);
	print_heading_lines((char *)note.data, columns);
	buf_free(&note);
}

int view_print(const struct view *view, const struct args *args, struct error *err)
{
	struct view_layout l = {
		.json = arg(args, "json"),
		.exact = arg(args, "exact"),
		.left_out = view->left_out && left_out_calls(view->trace),
	};
	int r = EXIT_OK;

	if (check_columns(view, arg(args, "output"), err) < 0 || check_columns(view, arg(args, "sort"), err) < 0)
		return EXIT_FAILED;
	for (unsigned i = 0; view->table->columns[i].name; i++)
		l.lacks[i] = lacks_of(view, i);
	if (choose_columns(view, args, &l, err) < 0 || sort_rows(view, args, &l, err) < 0 ||
	    limit_rows(view, args, &l, err) < 0) {
		free(l.rows);
		return EXIT_USAGE;
	}
	terminal_end_progress();
	fit_columns(view, args, &l);
	if (l.json) {
		print_json(view, &l);
	} else {
		terminal_start_pager();
		print_heading(view, args, &l);
		if (l.n_rows)
			r = draw(view, &l, err);
		else
			print_titles(view, &l);
	}
	if (!view->table->rows)
		empty_say(args, view->trace, view->table->what);
	if (!l.json && l.n_rows < view->table->rows)
		terminal_note("%zu more lines; -n 0 shows all", view->table->rows - l.n_rows);
	free(l.rows);
	return r;
}
