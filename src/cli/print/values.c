/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "values.h"

#include "terminal.h"

/* Append a text of the guest's, and free it. */
static void put_escaped(struct buf *out, struct buf *text)
{
	buf_put_u8(text, 0);
	terminal_escape(out, (char *)text->data);
	buf_free(text);
}

void values_put_args(struct buf *out, const struct call_values *c, const struct fact *args)
{
	struct buf text = { 0 };

	value_text_args(&text, c, args, false);
	put_escaped(out, &text);
}

void values_put_result(struct buf *out, const struct call_values *c, const struct fact *result)
{
	struct buf text = { 0 };

	value_text_result(&text, c, result);
	put_escaped(out, &text);
}
