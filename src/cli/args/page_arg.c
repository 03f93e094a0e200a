/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "page_arg.h"

#include "cli/print/left_out_note.h"

int page_arg_open(const struct args *args, struct trace_arg *ret, struct error *err)
{
	if (trace_arg_open(args, ret, err) < 0)
		return -1;
	names_fold_thunks(&ret->names);
	instruments_arg(args, ret);
	trace_arg_open_index(ret);
	left_out_warn(args, ret, LEFT_OUT_WAITS);
	return 0;
}
