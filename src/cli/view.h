/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints rows of columns for people or, with --json, for programs. Every command
 * that shows a list has the same options for columns (-o), order (-s) and number of
 * rows (-n). libsmartcols draws the table.
 */
#ifndef UPTO_CLI_VIEW_H
#define UPTO_CLI_VIEW_H

#include "base/buf.h"
#include "trace_arg.h"

/* The options that view_print() reads; a command puts these into its table. */
#define VIEW_OPTIONS                                                                              \
	{ 0, "json", NULL, "print JSON" },                                                        \
	{ 'o', "output", "COLUMNS", "columns and their order, e.g. function,calls; '-o help' explains them", ',' }, \
	{ 's', "sort", "COLUMN", "sort by this column; -COLUMN: smallest first" },                \
	{ 'n', "lines", "N", "show N lines; 0: all (default: a screenful on a terminal, else all)" }, \
	{ 0, "exact", NULL, "numbers in full, times in seconds with nine digits" },               \
	{ 0, "wide", NULL, "do not cut what is wider than the terminal" }

enum cell_type {
	CELL_NONE,      /* no value */
	CELL_NUMBER,    /* a number that names something: a PID */
	CELL_COUNT,     /* a number whose every unit matters: calls */
	CELL_AMOUNT,    /* a number of which the size matters: instructions */
	CELL_PERCENT,
	CELL_SECONDS,   /* a moment */
	CELL_DURATION,
	CELL_ADDRESS,   /* a string in JSON, since it can be above 2^53 */
	CELL_TEXT,
	CELL_LIST,
};

struct cell {
	enum cell_type type;  /* its column's, or NONE */
	uint64_t number;      /* NUMBER (when negative: its two's complement), COUNT, AMOUNT, ADDRESS; SECONDS, DURATION: nanoseconds */
	bool negative;
	double percent;
	unsigned indent;      /* TEXT, for people: columns that it is set in */
	const char *text;     /* TEXT; LIST: items separated by newlines; NONE: what people read instead; NULL: nothing */
	const char *mark;     /* TEXT, for people: comes behind it; NULL: none */
};

struct column {
	const char *name;     /* for -o and JSON */
	const char *title;
	enum cell_type type;
	const char *help;
	bool hidden;          /* shown only when asked for; always in JSON */
};

struct view {
	const char *name;           /* JSON's key */
	const struct column *columns; /* ended by one without a name */
	size_t rows;
	const char *heading;        /* a line above the table, not in JSON; NULL: none */
	const char *default_output; /* columns for people, as with -o; NULL: all that are not hidden */
	const char *default_sort;   /* NULL: the rows' own order */
	const char *what;           /* rows are of: "system calls" */
	const struct trace_arg *trace;
	/* Fill in the cell; text may point into *scratch. */
	void (*cell)(const void *data, size_t row, unsigned column, struct cell *ret, struct buf *scratch);
	const void *data;
};

/*
 * For headings: "# 8.12 G instructions in 19.7 s of guest time" and, if it is not UINT64_MAX, ", halted 322 ms more"; in
 * full with --exact.
 */
void view_put_time(struct buf *out, const struct args *args, uint64_t insns, uint64_t ns, uint64_t halted_ns);

/* Prints; an exit status. */
int view_print(const struct view *view, const struct args *args, struct error *err);

#endif
