/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sinks that are files: one of -o, which is there once it is whole, and standard output. */
#ifndef UPTO_CLI_PRINT_FILE_SINK_H
#define UPTO_CLI_PRINT_FILE_SINK_H

#include <stdbool.h>

#include "base/sink.h"

/* Puts all of it. 0, or -1 with *err set. */
typedef int (*file_sink_put)(void *context, const struct sink *to, struct error *err);

/* The file gets its name when all is written; NULL: standard output. Progress ends with it. Returns 0 or -1. */
int file_sink_write(const char *path, bool force, file_sink_put put, void *context, struct error *err);

#endif
