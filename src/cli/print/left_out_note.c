/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "left_out_note.h"

#include <inttypes.h>
#include <stdio.h>

#include "analysis/thin/thin.h"
#include "quantity.h"
#include "terminal.h"
#include "trace/thinned.h"

const struct term left_out_terms[] = {
	{ "left_out", "only of a trace that calls were left out of: how many; upto info has by what" },
	{ "instruments",
	  "only if some ran, and --instruments was not given: by kind, what their calls ran, insns and ns" },
	{ 0 },
};

uint64_t left_out_calls(const struct trace_arg *t)
{
	uint64_t calls = 0;

	for (int i = 0; i < THIN_REASONS; i++)
		calls += thinned_left_out(&t->reader->meta, thin_reason_name((enum thin_reason)i));
	return calls;
}

static const char *options_of(const struct trace_arg *t)
{
	const char *by = thinned_by(&t->reader->meta);

	return by ? by : "";
}

void left_out_put(struct buf *out, const struct args *args, const struct trace_arg *t)
{
	uint64_t calls = left_out_calls(t);

	if (arg_if_any(args, "exact"))
		buf_printf(out, "%" PRIu64, calls);
	else
		put_amount(out, calls, false);
	buf_printf(out, calls == 1 ? " call was left out by " : " calls were left out by ");
	terminal_escape(out, options_of(t));
}

void left_out_warn(const struct args *args, const struct trace_arg *t, const char *meaning)
{
	struct buf text = { 0 };

	if (!left_out_calls(t))
		return;
	terminal_escape(&text, t->reader->path);
	buf_printf(&text, ": ");
	left_out_put(&text, args, t);
	buf_put_u8(&text, 0);
	fprintf(stderr, "upto: %s: %s\n", (char *)text.data, meaning);
	buf_free(&text);
}

void left_out_put_json(struct json *j, const struct trace_arg *t)
{
	json_number(j, "left_out", left_out_calls(t));
}
