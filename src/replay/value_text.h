/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What functions were given and gave back, as text and as JSON. Names are the guest's bytes, not escaped. */
#ifndef UPTO_REPLAY_VALUE_TEXT_H
#define UPTO_REPLAY_VALUE_TEXT_H

#include "base/json.h"
#include "call_values.h"

/*
 * Append "(file=/etc/passwd, buf=0x7ffc01, count=4096)"; of a function whose types are not known its registers, marked;
 * nothing of NULL. `alike`: addresses that name nothing are …, so that calls that differ by them only have one text.
 */
void value_text_args(struct buf *out, const struct call_values *c, const struct fact *args, bool alike);

/* Append " = 832", " = -2 (ENOENT)"; nothing of NULL, and of a function that gives nothing back. */
void value_text_result(struct buf *out, const struct call_values *c, const struct fact *result);

/*
 * "args", an object with a value for each parameter (a number; an address, a name or NULL as a string), and "result", a
 * number or a string, into the object that is open. NULL: not recorded.
 */
void value_json(struct json *j, const struct call_values *c, const struct fact *args, const struct fact *result);

/* The first of these alone. */
void value_args_json(struct json *j, const struct call_values *c, const struct fact *args);

#endif
