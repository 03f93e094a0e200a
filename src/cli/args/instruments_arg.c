/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "instruments_arg.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "cli/print/left_out_note.h"
#include "replay/instruments.h"

/* False: there is nothing to fold; then the session goes without. */
static bool mark_instruments(struct trace_arg *t)
{
	size_t count = names_count(&t->names);
	uint8_t *kinds = xcalloc(count, sizeof *kinds);
	bool any = instruments_mark(&t->names, kinds);

	if (any && !t->fold_marks)
		t->fold_marks = xcalloc(count, sizeof *t->fold_marks);
	for (size_t i = 0; any && i < count; i++)
		if (kinds[i])
			t->fold_marks[i] = (uint8_t)(FOLD_BELOW | kinds[i] << FOLD_KIND);
	free(kinds);
	return any;
}

void instruments_arg(const struct args *args, struct trace_arg *t)
{
	/* what is left out of a trace is left out by the number of its frame */
	if (arg(args, "instruments") || left_out_calls(t) || reader_has(t->reader, CHUNK_HELD) || !mark_instruments(t))
		return;
	t->fold_spent = xcalloc(FOLD_KINDS, sizeof *t->fold_spent);
	t->fold.marks = t->fold_marks;
	t->fold.spent = t->fold_spent;
	t->session.fold = &t->fold;
}

static bool instruments_ran(const struct trace_arg *t)
{
	for (unsigned i = 1; t->fold_spent && i < FOLD_KINDS; i++)
		if (t->fold_spent[i].insns)
			return true;
	return false;
}

void instruments_put_json(struct json *j, const struct trace_arg *t)
{
	if (!instruments_ran(t))
		return;
	json_object(j, "instruments");
	for (unsigned i = 1; i < FOLD_KINDS; i++) {
		const struct spent *spent = &t->fold_spent[i];

		if (!spent->insns)
			continue;
		json_object(j, instruments_name(i));
		json_number(j, "insns", spent->insns);
		json_number(j, "ns", spent->ns);
		json_close(j);
	}
	json_close(j);
}

void instruments_put_costs(const struct trace_arg *t, struct buf *out)
{
	const struct spent *spent = t->fold_spent;
	const char *before = "# instruments: ";

	for (unsigned i = 1; spent && i < FOLD_KINDS; i++) {
		double share = spent[0].insns ? 100 * (double)spent[i].insns / (double)spent[0].insns : 0;

		if (!spent[i].insns)
			continue;
		buf_printf(out, share < 0.1 ? "%s%s under 0.1 %%" : "%s%s %.3g %%", before, instruments_name(i), share);
		before = ", ";
	}
	if (*before == ',')
		buf_printf(out, ", in who called them; --instruments shows them");
}

void thunks_arg(const struct args *args, struct trace_arg *t)
{
	if (!arg(args, "thunks"))
		names_fold_thunks(&t->names);
}
