/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The trace that a page is made of. */
#ifndef UPTO_CLI_ARGS_PAGE_ARG_H
#define UPTO_CLI_ARGS_PAGE_ARG_H

#include "trace_arg.h"

/*
 * Open it as the page shows it: thunks folded, and instruments unless the options say otherwise; with its index, if
 * there is one. Standard error says what it lacks.
 */
int page_arg_open(const struct args *args, struct trace_arg *ret, struct error *err);

/* The same trace once more, when more of it has been recorded; nothing is said twice. */
int page_arg_open_again(const struct args *args, struct trace_arg *ret, struct error *err);

#endif
