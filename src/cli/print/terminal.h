/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is different on a terminal: pager, colour, width, status line. */
#ifndef UPTO_CLI_PRINT_TERMINAL_H
#define UPTO_CLI_PRINT_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* Send standard output through $UPTO_PAGER, $PAGER or less, if it is a terminal. Called once. */
void terminal_start_pager(void);
/* Wait for the pager, and check that everything was written. Returns 0 or an errno. */
int terminal_finish(void);

/* Writing to standard output failed just now: with this errno, which later calls change. */
void terminal_failed(int number);

/* Do not start a pager (--no-pager). */
void terminal_no_pager(void);

/* Is colour wanted? Standard output is (or was, before the pager) a terminal, and NO_COLOR is not set. */
bool terminal_colour(void);

/* How many lines of a table fill the screen, asked before a pager starts; 0: no limit, it is not a terminal. */
size_t terminal_rows(void);
/* The terminal's width in columns; 0: no limit. */
size_t terminal_columns(void);

/*
 * Show on standard error, if it is a terminal, how far reading has come. Called from
 * any thread with each chunk; `chunks` is their total number, `context` is not used. The line
 * appears after a second, and disappears with the first output.
 */
void terminal_progress(void *context, size_t chunks);
void terminal_end_progress(void);

/* Print a remark below the output: on standard error if that is a terminal, or in the pager. */
void terminal_note(const char *fmt, ...) __attribute__((format(printf, 1, 2), nonnull(1)));

/* Print lines without control characters. A line wider than `columns`, if that is not 0, loses its middle. */
void terminal_print(struct buf *lines, size_t columns);

/*
 * Append text. Control characters, characters that change the direction of text, and invalid UTF-8 are written as \x1b.
 */
void terminal_escape(struct buf *out, const char *text);

#endif
