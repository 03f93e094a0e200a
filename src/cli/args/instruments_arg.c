/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "instruments_arg.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "cli/args/function_arg.h"
#include "cli/args/trace_arg.h"
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

/* What is left out of a trace is left out by the number of its frame. */
static bool may_fold(const struct trace_arg *t)
{
	return !left_out_calls(t) && !reader_has(t->reader, CHUNK_HELD);
}

/* The part that is asked for, which the command has read already, and which alone has costs. */
static struct span asked_span(const struct args *args)
{
	const struct command *c = args->command;
	struct span span = SPAN_ALL;
	struct error ignored;

	if (command_has(c, "from") && command_has(c, "to") && command_has(c, "cpu"))
		(void)span_arg(args, &span, &ignored);
	return span;
}

static void say_shown(const struct trace_arg *t)
{
	cleanup_free uint8_t *kinds = xcalloc(names_count(&t->names), sizeof *kinds);

	if (instruments_mark(&t->names, kinds))
		fprintf(stderr, "upto: instruments are shown, since calls are left out: who called them is not known\n");
}

static void fold_instruments(const struct args *args, struct trace_arg *t)
{
	if (!may_fold(t)) {
		say_shown(t);
		return;
	}
	if (!mark_instruments(t))
		return;
	t->fold_spent = xcalloc(FOLD_KINDS, sizeof *t->fold_spent);
	t->fold.marks = t->fold_marks;
	t->fold.spent = t->fold_spent;
	t->fold.span = asked_span(args);
	t->session.fold = &t->fold;
}

static int fold_named(const struct args *args, struct trace_arg *t, struct error *err)
{
	size_t count = names_count(&t->names);
	bool *named;

	if (!may_fold(t))
		return error_set(err, "--fold: not where calls are left out: who called them is not known");
	if (functions_option(args, "fold", &t->names, &named, err) < 0)
		return -1;
	if (!t->fold_marks)
		t->fold_marks = xcalloc(count, sizeof *t->fold_marks);
	for (size_t i = 0; i < count; i++)
		if (named[i])
			t->fold_marks[i] = (uint8_t)((t->fold_marks[i] & ~FOLD_MARK) | FOLD_BELOW);
	free(named);
	t->fold.marks = t->fold_marks;
	t->session.fold = &t->fold;
	return 0;
}

int instruments_arg(const struct args *args, struct trace_arg *t, struct error *err)
{
	if (!arg(args, "instruments"))
		fold_instruments(args, t);
	return arg(args, "fold") ? fold_named(args, t, err) : 0;
}

bool keeps_history(const struct args *args, const struct trace_arg *t)
{
	return is_worth_index(t) && !arg(args, "instruments") && !arg(args, "fold");
}

bool fold_hides(const struct trace_arg *t, const char *list, bool *ret_instruments)
{
	struct error ignored;
	bool any = false, *named;

	*ret_instruments = false;
	if (!t->session.fold || !t->session.fold->marks || functions_named(list, &t->names, &named, &ignored) < 0)
		return false;
	for (size_t i = 0; i < names_count(&t->names); i++)
		if (named[i] && t->session.fold->marks[i] & FOLD_MARK) {
			any = true;
			*ret_instruments |= t->session.fold->marks[i] >> FOLD_KIND;
		}
	free(named);
	return any;
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
		json_known(j, "insns", !reader_lacks(t->reader, "instructions"), spent->insns);
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
