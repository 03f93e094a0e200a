/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints a table for people or, with --json, for programs. Every command
 * that shows one has the same options for columns (-o), order (-s) and number of
 * rows (-n). libsmartcols draws the table.
 */
#ifndef UPTO_CLI_PRINT_VIEW_H
#define UPTO_CLI_PRINT_VIEW_H

#include "cli/args/open_trace.h"
#include "cli/command.h"
#include "tables/table.h"

/* The options that view_print() reads; a command puts these into its table. */
#define VIEW_OPTIONS                                                                              \
	{ 0, "json", NULL, "print JSON" },                                                        \
	{ 'o', "output", "COLUMNS", "columns and their order, e.g. function,calls; '-o help' explains them", ',' }, \
	{ 's', "sort", "COLUMN", "sort by this column; -COLUMN: smallest first" },                \
	{ 'n', "lines", "N", "show N lines; 0: all (default: a screenful on a terminal, else all)" }, \
	{ 0, "exact", NULL, "numbers in full, times in seconds with nine digits" },               \
	{ 0, "wide", NULL, "do not cut what is wider than the terminal" }

struct view {
	const struct table *table;
	const char *heading;        /* a line above the table, not in JSON; NULL: none */
	const char *default_output; /* columns for people, as with -o; NULL: all that are not hidden */
	const char *default_sort;   /* NULL: the rows' own order */
	const struct trace_arg *trace;
	/* what to add where it is said that calls were left out of the trace; NULL: they make no difference */
	const char *left_out;
};

/*
 * For headings: "# 8.12 G instructions in 19.7 s of guest time" and, if it is not UINT64_MAX, ", halted 322 ms more";
 * in full with --exact. Instructions only if the trace has them.
 */
void view_put_time(struct buf *out, const struct args *args, const struct trace_arg *t, uint64_t insns, uint64_t ns,
		   uint64_t halted_ns);

/* Prints; an exit status. */
int view_print(const struct view *view, const struct args *args, struct error *err);

#endif
