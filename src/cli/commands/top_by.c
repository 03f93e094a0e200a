/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "top_by.h"

#include <string.h>

#include "cli/print/view.h"
#include "tables/interrupts_table.h"
#include "tables/sums_table.h"

const char *top_by_left_out(const struct trace_arg *t, const struct span *span)
{
	if (!span_is_all(span))
		return " in all; sums of a part of the trace are of the others, which have the time of those that they called";
	return t->threads.chosen ? "; sums are of all that the chosen threads ran" : "; sums are of all that ran";
}

int top_by_arg(const struct args *args, enum sums_by *ret, struct error *err)
{
	const char *by = arg(args, "by");

	*ret = BY_FUNCTION;
	for (unsigned i = 0; by && sums_name(i); i++)
		if (!strcmp(by, sums_name(i))) {
			*ret = (enum sums_by)i;
			return 0;
		}
	return by ? error_set(err, "--by %s: function, module, section, process, thread or interrupt", by) : 0;
}

static int show(const struct args *args, struct view *view, const struct sums *sums, bool by_ns, struct error *err)
{
	struct buf heading = { 0 };
	int r;

	buf_printf(&heading, "# ");
	view_put_time(&heading, args, view->trace, sums->insns, sums->ns, sums->halted_ns);
	buf_printf(&heading, "; self %% of %s", by_ns ? "time" : "instructions");
	buf_put_u8(&heading, 0);
	view->heading = arg(args, "output") ? NULL : (char *)heading.data;
	r = view_print(view, args, err);
	buf_free(&heading);
	return r;
}

int top_by_show(const struct args *args, const struct trace_arg *t, const struct span *span, enum sums_by by,
		bool by_ns, struct error *err)
{
	/* of functions, of tasks; by instructions, by time: shares stand beside what they are shares of */
	static const char *const outputs[][2] = {
		{ "name,calls,self_insns,self_pct,self_ns", "name,calls,self_insns,self_ns,self_pct" },
		{ "name,pid,self_insns,self_pct,self_ns,exe", "name,pid,self_insns,self_ns,self_pct,exe" },
	};
	struct sums sums;
	struct table table;
	struct view view = {
		.table = &table, .trace = t, .default_output = outputs[by == BY_PROCESS || by == BY_THREAD][by_ns],
		.default_sort = by_ns ? "self_ns" : "self_insns",
		.left_out = by == BY_PROCESS || by == BY_THREAD ? NULL : top_by_left_out(t, span),
	};
	int r = EXIT_FAILED;

	if (sums_analyse(&t->session, span, by, &sums, err) == 0) {
		sums_table_init(&table, &sums, by, by_ns);
		r = show(args, &view, &sums, by_ns, err);
		table_deinit(&table);
	}
	sums_deinit(&sums);
	return r;
}

int top_by_interrupt_show(const struct args *args, const struct trace_arg *t, const struct span *span, bool by_ns,
			  struct error *err)
{
	struct interrupts interrupts;
	struct table table;
	struct view view = {
		.table = &table, .trace = t, .default_sort = by_ns ? "total_ns" : "total_insns", .left_out = span_is_all(span) ? "" : " in all",
	};
	int r = EXIT_FAILED;

	if (interrupts_analyse(&t->session, span, &interrupts, err) == 0) {
		interrupts_table_init(&table, &t->session, &interrupts);
		r = view_print(&view, args, err);
		table_deinit(&table);
	}
	interrupts_deinit(&interrupts);
	return r;
}
