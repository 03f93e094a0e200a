/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What differs when somebody looks: pager, colour, width, status line. */
#ifndef UPTO_CLI_TERMINAL_H
#define UPTO_CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* Send standard output through $UPTO_PAGER, $PAGER or less, if it is a terminal. Once. */
void terminal_start_pager(void);
/* Wait for the pager and check that everything was written: 0, or an errno. */
int terminal_finish(void);

/* Do not start a pager (--no-pager). */
void terminal_no_pager(void);

/* Is colour wanted? Standard output is (or was, before the pager) a terminal, and NO_COLOR is not set. */
bool terminal_colour(void);

/* A screenful of table lines. */
size_t terminal_rows(void);

/*
 * A line on standard error, if that is a terminal, that tells how far reading
 * has come: from any thread, with each chunk, of how many. It shows after a
 * second, and goes with the first output.
 */
void terminal_progress(size_t chunks);
void terminal_end_progress(void);

/* A remark below the output: on standard error if that is a terminal, or in the pager. */
void terminal_note(const char *fmt, ...) __attribute__((format(printf, 1, 2), nonnull(1)));

/* Append text with control characters made harmless. */
void terminal_escape(struct buf *out, const char *text);

#endif
