/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What functions were given and gave back, as people read it. */
#ifndef UPTO_CLI_PRINT_VALUES_H
#define UPTO_CLI_PRINT_VALUES_H

#include "replay/value_text.h"

/* As value_text_args() and value_text_result(), for terminals. */
void values_put_args(struct buf *out, const struct call_values *c, const struct fact *args);
void values_put_result(struct buf *out, const struct call_values *c, const struct fact *result);

/* JSON's keys, for legends. */
#define ARGS_TERM                                                                                               \
	{ "args", "with --args: what it was given, by name of parameter: numbers, addresses as strings, or what " \
		  "they name; null: not recorded" }
#define VALUES_TERMS \
	ARGS_TERM, { "result", "with --args: what it gave back; null: nothing, or not recorded" }

#define ARGS_OPTION \
	{ 0, "args", NULL, "what functions were given and gave back, where it was recorded: record --args" }

#endif
