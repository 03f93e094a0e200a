/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "values_arg.h"

#include "analysis/events/event_times.h"

int args_arg(const struct args *args, const struct trace_arg *t, struct call_values *values,
	     const struct call_values **ret, struct error *err)
{
	*values = (struct call_values){ 0 };
	*ret = NULL;
	if (!arg(args, "args"))
		return 0;
	if (call_values_read(t->reader, &t->names, values, err) < 0)
		return error_prefix(err, "%s", t->reader->path);
	/* of programs they are read in the middle of blocks, where no clock is */
	if (values->named.count) {
		if (event_times_settle(t->reader, &values->facts, err) < 0)
			return error_prefix(err, "%s", t->reader->path);
		facts_index(&values->facts);
	}
	call_values_complete(values);
	if (!values->count)
		return error_set(err, "%s: has no arguments of functions: 'upto record --args NAMES' records them",
				 t->reader->path);
	*ret = values;
	return 0;
}
