/* SPDX-License-Identifier: GPL-2.0-or-later */
/* upto top --by: time summed by what functions belong to, or by who ran. */
#ifndef UPTO_CLI_TOP_BY_H
#define UPTO_CLI_TOP_BY_H

#include "analysis/functions.h"
#include "trace_arg.h"

enum top_by { BY_FUNCTION, BY_MODULE, BY_SECTION, BY_PROCESS, BY_THREAD };

int top_by_arg(const struct args *args, enum top_by *ret, struct error *err);

/* Prints; an exit status. By anything but functions. */
int top_by_show(const struct args *args, const struct trace_arg *t, const struct span *span, enum top_by by, bool by_ns,
		struct error *err);

#endif
