/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The option --debug FILE: source lines and inlined functions from files with debug information. */
#ifndef UPTO_CLI_ARGS_DEBUG_ARG_H
#define UPTO_CLI_ARGS_DEBUG_ARG_H

#include "base/json.h"
#include "cli/command.h"
#include "replay/source_lines.h"

#define DEBUG_OPTION                                                                    \
	{ 0, "debug", "FILES", "source lines and inlined functions, from files with debug information: a:b", ':' }

/* Open the files of --debug, if it was given. Call source_lines_deinit() also after an error. */
int debug_arg(const struct args *args, const struct names *names, struct source_lines *ret, struct error *err);

/* Append " fs/open.c:1404"; nothing if the line is not known. */
void debug_put(struct buf *out, const struct source_line *line);
/* Put "file" and "line" into the object that is open. */
void debug_put_json(struct json *j, const struct source_line *line);

#endif
