/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A trace that a command makes of something else: written as a whole, or not there. */
#ifndef UPTO_CLI_PRINT_TRACE_OUTPUT_H
#define UPTO_CLI_PRINT_TRACE_OUTPUT_H

#include "base/error.h"
#include "trace/builder.h"

/* `level`: of compression, where who fills it names none. `force`: a trace that is there is replaced. */
int trace_output_write(const char *path, bool force, int level,
		       int (*fill)(void *context, const struct builder_sink *sink, struct error *err), void *context,
		       struct error *err);

#endif
