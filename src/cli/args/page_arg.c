/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "page_arg.h"

#include "cli/print/left_out_note.h"
#include "trace/damage.h"

static void fold(const struct args *args, struct trace_arg *t)
{
	names_fold_thunks(&t->names);
	instruments_arg(args, t);
	trace_arg_open_index(t);
}

int page_arg_open(const struct args *args, struct trace_arg *ret, struct error *err)
{
	if (trace_arg_open(args, ret, err) < 0)
		return -1;
	fold(args, ret);
	left_out_warn(args, ret, LEFT_OUT_WAITS);
	return 0;
}

int page_arg_open_again(const struct args *args, struct trace_arg *ret, struct error *err)
{
	if (open_trace(args->operands[0], ret, err) < 0)
		return -1;
	damage_take_out(ret->reader);
	fold(args, ret);
	return 0;
}
