/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Says of a trace that calls were left out of it, so that no answer seems more complete than it is. */
#ifndef UPTO_CLI_PRINT_LEFT_OUT_NOTE_H
#define UPTO_CLI_PRINT_LEFT_OUT_NOTE_H

#include "base/json.h"
#include "cli/args/open_trace.h"
#include "cli/command.h"

/* The legend of left_out_put_json(). */
#define LEFT_OUT_LEGEND { "keys of JSON", NULL, left_out_terms }
extern const struct term left_out_terms[];

/* How many calls filters have left out. */
uint64_t left_out_calls(const struct trace_arg *t);

/* "38.1 M calls were left out by --min-duration 100us" */
void left_out_put(struct buf *out, const struct args *args, const struct trace_arg *t);

/* For what is told of all calls: standard error says so if some were left out, and what that means for the answer. */
#define LEFT_OUT_WAITS "what threads waited for, and who woke them up, is told only as far as the others tell it"
#define LEFT_OUT_HELD "a few of them are shown, since the others would not be understood without their entries or exits"
void left_out_warn(const struct args *args, const struct trace_arg *t, const char *meaning);

/* "left_out": 38067541 */
void left_out_put_json(struct json *j, const struct trace_arg *t);

#endif
