/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What functions were given and gave back, as people and programs read it. */
#ifndef UPTO_CLI_PRINT_VALUES_H
#define UPTO_CLI_PRINT_VALUES_H

#include "base/json.h"
#include "replay/call_values.h"

/* "(file=/etc/passwd, buf=0x7ffc01, count=4096)"; of a function whose types are not known its registers, marked. */
void values_put_args(struct buf *out, const struct call_values *c, const struct fact *args);

/* " = 832", " = -2 (ENOENT)"; nothing of a function that gives nothing back. */
void values_put_result(struct buf *out, const struct call_values *c, const struct fact *result);

/*
 * "args", an object with a value for each parameter (a number; an address, a name or NULL as a string), and "result", a
 * number or a string, into the object that is open. NULL: not recorded.
 */
void values_put_json(struct json *j, const struct call_values *c, const struct fact *args, const struct fact *result);

/* The first of these alone. */
void values_put_args_json(struct json *j, const struct call_values *c, const struct fact *args);

/* JSON's keys, for legends. */
#define ARGS_TERM                                                                                               \
	{ "args", "with --args: what it was given, by name of parameter: numbers, addresses as strings, or what " \
		  "they name; null: not recorded" }
#define VALUES_TERMS \
	ARGS_TERM, { "result", "with --args: what it gave back; null: nothing, or not recorded" }

#define ARGS_OPTION \
	{ 0, "args", NULL, "what functions were given and gave back, where it was recorded: record --args" }

#endif
