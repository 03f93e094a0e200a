/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An answer as a table: columns with names and types, and cells by row and column. All who print it print the same;
 * cli/view.h does for people and as JSON. A table knows no options, and does not print.
 *
 * A file here has a table's columns, which --help explains, and a function that makes the table of what an analysis
 * returned. What is given to that function must outlive the table; marks and choices need not. Rows are in the order in
 * which the table is read.
 */
#ifndef UPTO_TABLES_TABLE_H
#define UPTO_TABLES_TABLE_H

#include <stdbool.h>

#include "base/buf.h"

/* Tells also the unit. */
enum cell_type {
	CELL_NONE,      /* no value */
	CELL_NUMBER,    /* a number that names something: a PID */
	CELL_COUNT,     /* a number whose every unit matters: calls */
	CELL_AMOUNT,    /* a number of which the size matters: instructions */
	CELL_PERCENT,
	CELL_SECONDS,   /* a moment, in nanoseconds */
	CELL_DURATION,  /* in nanoseconds */
	CELL_ADDRESS,   /* a string in JSON, since it can be above 2^53 */
	CELL_TEXT,
	CELL_LIST,      /* of texts */
};

struct cell {
	enum cell_type type;  /* its column's, or NONE */
	/* NUMBER (when negative: its two's complement), COUNT, AMOUNT, ADDRESS, SECONDS, DURATION */
	uint64_t number;
	bool negative;
	double percent;
	unsigned indent;      /* TEXT, for people: columns that it is set in */
	/* TEXT; LIST: items separated by newlines; NONE: what people read instead; NULL: nothing */
	const char *text;
	const char *mark;     /* TEXT, for people: comes behind it; NULL: none */
};

struct column {
	const char *name;     /* for -o and JSON */
	const char *title;
	enum cell_type type;
	const char *help;
	bool hidden;          /* people see it only when they ask for it */
};

struct table {
	const char *name;             /* JSON's key */
	const char *what;             /* rows are of: "system calls" */
	const struct column *columns; /* ended by one without a name */
	size_t rows;
	bool compact;                 /* there can be so many rows that JSON has them without keys */
	uint64_t nothing;             /* a bit by column: no row has any of it, and JSON has it only if asked for */
	/* The cell's text may be in *scratch, which is empty before, and lives as long as that is not changed. */
	struct cell (*cell)(const void *data, size_t row, unsigned column, struct buf *scratch);
	void *data;                   /* the table's own */
	void (*free)(void *data);     /* frees it; NULL: there is nothing to free */
};

static inline void table_deinit(struct table *t)
{
	if (t->free)
		t->free(t->data);
}

static inline struct cell cell_none(void)
{
	return (struct cell){ .type = CELL_NONE };
}

static inline struct cell cell_number(uint64_t n)
{
	return (struct cell){ .type = CELL_NUMBER, .number = n };
}

static inline struct cell cell_signed(int64_t n)
{
	return (struct cell){ .type = CELL_NUMBER, .number = (uint64_t)n, .negative = n < 0 };
}

/* -1: the recorder did not know it. */
static inline struct cell cell_pid(int32_t pid)
{
	return pid == -1 ? (struct cell){ 0 } : cell_signed(pid);
}

static inline struct cell cell_count(uint64_t n)
{
	return (struct cell){ .type = CELL_COUNT, .number = n };
}

static inline struct cell cell_amount(uint64_t n)
{
	return (struct cell){ .type = CELL_AMOUNT, .number = n };
}

/* What part of `all` that is; of nothing: 0. */
static inline struct cell cell_share(uint64_t part, uint64_t all)
{
	return (struct cell){ .type = CELL_PERCENT, .percent = all ? 100.0 * (double)part / (double)all : 0 };
}

static inline struct cell cell_seconds(uint64_t ns)
{
	return (struct cell){ .type = CELL_SECONDS, .number = ns };
}

static inline struct cell cell_duration(uint64_t ns)
{
	return (struct cell){ .type = CELL_DURATION, .number = ns };
}

static inline struct cell cell_address(uint64_t address)
{
	return (struct cell){ .type = CELL_ADDRESS, .number = address };
}

static inline struct cell cell_text(const char *text)
{
	return (struct cell){ .type = CELL_TEXT, .text = text };
}

/* Of what was put into *scratch; a list's items are separated by newlines. */
static inline struct cell cell_scratch(enum cell_type type, struct buf *scratch)
{
	buf_put_u8(scratch, 0);
	return (struct cell){ .type = type, .text = (char *)scratch->data };
}

#endif
