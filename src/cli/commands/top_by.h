/* SPDX-License-Identifier: GPL-2.0-or-later */
/* upto top --by: time summed by what functions belong to, by who ran, or by interrupt. */
#ifndef UPTO_CLI_COMMANDS_TOP_BY_H
#define UPTO_CLI_COMMANDS_TOP_BY_H

#include "analysis/sums/sums.h"
#include "cli/args/open_trace.h"
#include "cli/command.h"

/* Of what the sums are where calls were left out, for view.left_out. */
const char *top_by_left_out(const struct trace_arg *t, const struct span *span);

int top_by_arg(const struct args *args, enum sums_by *ret, struct error *err);

/* Print the table. Both return an exit status. `by` is neither BY_FUNCTION nor BY_INTERRUPT. */
int top_by_show(const struct args *args, const struct trace_arg *t, const struct span *span, enum sums_by by,
		bool by_ns, struct error *err);
int top_by_interrupt_show(const struct args *args, const struct trace_arg *t, const struct span *span, bool by_ns,
			  struct error *err);

#endif
