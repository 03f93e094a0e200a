/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --args of commands that show calls: what functions were given, if the trace has it. */
#ifndef UPTO_CLI_ARGS_VALUES_ARG_H
#define UPTO_CLI_ARGS_VALUES_ARG_H

#include "cli/print/values.h"
#include "trace_arg.h"

/*
 * *ret: `values`, which has what was read, or NULL if nobody asks. An error if the trace has none. Call
 * call_values_deinit() also after an error.
 */
int args_arg(const struct args *args, const struct trace_arg *t, struct call_values *values,
	     const struct call_values **ret, struct error *err);

#endif
