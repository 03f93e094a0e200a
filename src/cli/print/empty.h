/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why an answer is empty. */
#ifndef UPTO_CLI_PRINT_EMPTY_H
#define UPTO_CLI_PRINT_EMPTY_H

#include "cli/args/open_trace.h"
#include "cli/command.h"

/*
 * Say on standard error that the options chose no `what` ("system calls") and, if they
 * chose a process, when it lived.
 */
void empty_say(const struct args *args, const struct trace_arg *t, const char *what);

#endif
