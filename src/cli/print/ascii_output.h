/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the user's locale (LC_ALL, LC_CTYPE, LANG) is one without UTF-8, what upto prints for people is ASCII: "us" for
 * µs, "..." for …, # for bars, and ? for what has no likeness. Where no locale is set at all, it is UTF-8. JSON always
 * is.
 */
#ifndef UPTO_CLI_PRINT_ASCII_OUTPUT_H
#define UPTO_CLI_PRINT_ASCII_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

/* Does the user's locale have no UTF-8? */
bool ascii_output_wanted(void);

/*
 * From now on what is written to *stream (stdout, stderr) comes to its file descriptor as ASCII. Nothing must have been
 * written yet.
 */
void ascii_output(FILE **stream, int fd);

#endif
