/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file of -o: not one that is read, none that exists without --force, and there once it is whole. */
#ifndef UPTO_CLI_PRINT_OUTPUT_FILE_H
#define UPTO_CLI_PRINT_OUTPUT_FILE_H

#include <stdbool.h>

#include "base/error.h"

struct stat;

#define FORCE_OPTION(what) { 'f', "force", NULL, "overwrite the " what " if it exists" }

enum output_kind {
	OUTPUT_TEXT,  /* may go to a device or a pipe, as it is written */
	OUTPUT_TRACE, /* must be a regular file */
};

/* May it be written? `input` is what is read: a file, "-" for standard input, or NULL: nothing. */
int output_file_check(const char *path, enum output_kind kind, bool force, const char *input, struct error *err);

/* Is it where standard output goes? Who asked for that has made the file, and nothing else is printed there. */
bool output_file_is_stdout(const struct stat *st);

struct output_file {
	char *path;  /* of the file itself, where it was named by a link */
	/* its name until it is whole; NULL: it is a device, a pipe or standard output, and is written as it goes */
	char *part;
	int fd;      /* of a part open for reading, too */
};

/* After an error *ret needs no closing. */
int output_file_open(struct output_file *ret, const char *path, enum output_kind kind, bool force, struct error *err);

/*
 * If `result` is 0, the file gets its name, in place of what was there before; else it is removed, and *err remains.
 * Returns `result`, or -1. The caller has closed fd and set it to -1, or leaves that to this.
 */
int output_file_close(struct output_file *o, int result, struct error *err);

/* Remove what is not finished, before the process ends without output_file_close(). */
void output_file_discard(void);

#endif
