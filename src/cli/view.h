/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of columns for people and, with --json, for programs: which columns
 * (-o), in what order (-s), how many rows (-n) are the same for every command
 * that shows a list. libsmartcols draws.
 */
#ifndef UPTO_CLI_VIEW_H
#define UPTO_CLI_VIEW_H

#include "base/buf.h"
#include "command.h"

/* The options that view_print() reads; a command puts these into its table. */
#define VIEW_OPTIONS                                                                              \
	{ 0, "json", NULL, "print JSON" },                                                        \
	{ 'o', "output", "COLUMNS", "columns and their order, e.g. function,calls; '-o help' lists them" }, \
	{ 's', "sort", "COLUMN", "sort by this column; -COLUMN: smallest first" },                \
	{ 'n', "lines", "N", "show N lines; 0: all (default: all in JSON, a screenful else)" }

enum cell_type { CELL_NONE, CELL_NUMBER, CELL_PERCENT, CELL_SECONDS, CELL_TEXT, CELL_LIST };

struct cell {
	enum cell_type type;
	uint64_t number;      /* NUMBER (when negative: its two's complement), SECONDS: nanoseconds */
	bool negative;
	double percent;
	unsigned indent;      /* TEXT, for people: columns that it is set in */
	const char *text;     /* TEXT; LIST: items separated by newlines */
};

struct column {
	const char *name;     /* for -o and JSON */
	const char *title;
	const char *help;
	bool left;            /* text: set left */
	bool hidden;          /* shown only when asked for; always in JSON */
	bool list;            /* its cells are lists of numbers */
};

struct view {
	const char *name;           /* JSON's key */
	const struct column *columns; /* ended by one without a name */
	size_t rows;
	const char *heading;        /* a line above the table, not in JSON; NULL: none */
	const char *default_sort;   /* NULL: the rows' own order */
	/* Fill in the cell; text may point into *scratch. */
	void (*cell)(const void *data, size_t row, unsigned column, struct cell *ret, struct buf *scratch);
	const void *data;
};

/* Prints; an exit status. */
int view_print(const struct view *view, const struct args *args, struct error *err);

#endif
