/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `upto top --by interrupt`: a row for each vector. */
#ifndef UPTO_CLI_TOP_INTERRUPTS_H
#define UPTO_CLI_TOP_INTERRUPTS_H

#include "analysis/interrupts.h"
#include "trace_arg.h"
#include "view.h"

extern const struct column top_interrupts_columns[];

/* Prints; an exit status. */
int top_interrupts_show(const struct args *args, const struct trace_arg *t, const struct span *span, bool by_ns, struct error *err);

#endif
