/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "page_arg.h"

#include "cli/print/left_out_note.h"
#include "trace/damage.h"

static int fold(const struct args *args, struct trace_arg *t, struct error *err)
{
	names_fold_thunks(&t->names);
	if (instruments_arg(args, t, err) < 0) {
		trace_arg_close(t);
		return -1;
	}
	trace_arg_open_index(t);
	return 0;
}

int page_arg_open(const struct args *args, struct trace_arg *ret, struct error *err)
{
	if (trace_arg_open(args, ret, err) < 0 || fold(args, ret, err) < 0)
		return -1;
	left_out_warn(args, ret, LEFT_OUT_WAITS);
	return 0;
}

int page_arg_open_again(const struct args *args, struct trace_arg *ret, struct error *err)
{
	if (open_trace(args->operands[0], ret, err) < 0)
		return -1;
	damage_take_out(ret->reader);
	return fold(args, ret, err);
}
