/* SPDX-License-Identifier: GPL-2.0-or-later */
/* upto top --by: time summed by what functions belong to, or by who ran. */
#ifndef UPTO_CLI_TOP_BY_H
#define UPTO_CLI_TOP_BY_H

#include "analysis/sums.h"
#include "trace_arg.h"
#include "view.h"

/* Its columns, for --help. */
extern const struct column top_by_columns[];

int top_by_arg(const struct args *args, enum sums_by *ret, struct error *err);

/* Print the table. Returns an exit status. `by` is not BY_FUNCTION. */
int top_by_show(const struct args *args, const struct trace_arg *t, const struct span *span, enum sums_by by, bool by_ns,
		struct error *err);

#endif
