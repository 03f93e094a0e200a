/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text that `perf script --itrace=cr -F +flags,+addr` prints of what Intel PT traced: calls, returns, and what
 * leads into the kernel and out of it, which `perf_line` reads line by line. Here each thread's calls are put into each
 * other.
 *
 * A return ends the call from behind whose place it goes on: so functions that were left by a jump, which such text
 * need not have, end with the one that jumped. A part that was not traced, from where the trace ends up to where it
 * begins again, is a call of what it is known to be: [syscall], [interrupt], [guest], [untraced], or the function that
 * was called.
 */
#ifndef UPTO_IMPORT_PERF_TEXT_H
#define UPTO_IMPORT_PERF_TEXT_H

#include "graph_records.h"

/* Is it such text that begins so? */
bool perf_text_is_one(const char *text, size_t len);

/* Put what it says, up to the file's end (graph_reader_start()). */
void perf_text_read(struct graph_writer *w, int fd);

/* Read the file, whose descriptor can seek. NULL: *err is set. */
struct graph_reader *perf_text_open(int fd, const char *path, struct error *err);

#endif
