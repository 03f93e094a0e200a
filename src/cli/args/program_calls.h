/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a program with libupto wrote, given where a trace is expected: it is made one in memory. */
#ifndef UPTO_CLI_ARGS_PROGRAM_CALLS_H
#define UPTO_CLI_ARGS_PROGRAM_CALLS_H

#include "base/error.h"

/* A descriptor of the trace. -1: the file is no such one, or cannot be opened; -2: it cannot be read, *err is set. */
int program_calls_open(const char *path, struct error *err);

#endif
