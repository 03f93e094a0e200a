/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "empty.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/args/instruments_arg.h"
#include "cli/args/trace_has.h"
#include "quantity.h"
#include "terminal.h"
#include "trace/thinned.h"

/* " named openat", in the words of the options that were given */
static void put_choice(struct buf *out, const struct args *args)
{
	static const struct { const char *option, *text;
	} words[] = {
		{ "name", " named %s" },
		{ "function", " of %s" },
		{ "kind", " of kind %s" },
		{ "kernel", " of the kernel" },
		{ "user", " of programs and libraries" },
		{ "module", " of %s" },
		{ "pid", " of PID %s" },
		{ "comm", " of %s" },
		{ "cpu", " on vCPU %s" },
		{ "min", " with at least %s %%" },
		{ "min-duration", " that took at least %s" },
		{ "running", " that ran" },
	};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		const char *value = arg_if_any(args, words[i].option), *text = words[i].text, *at = strstr(text, "%s");

		if (!value)
			continue;
		buf_put(out, text, at ? (size_t)(at - text) : strlen(text));
		if (at)
			buf_printf(out, "%s%s", value, at[2] ? " %" : "");
	}
	for (unsigned i = 1; i < args->n_operands; i++)
		buf_printf(out, "%s%s", i > 1 ? ", " : " of ", args->operands[i]);
}

static void put_moment_of(struct buf *out, const struct args *args, const char *option, const char *before)
{
	struct error ignored;
	uint64_t ns = 0;

	if (!arg_if_any(args, option) || arg_time(args, option, &ns, &ignored) < 0)
		return;
	buf_printf(out, "%s", before);
	put_short_moment(out, ns);
}

static void put_times(struct buf *out, const struct args *args)
{
	bool both = arg_if_any(args, "from") && arg_if_any(args, "to");

	put_moment_of(out, args, "from", both ? " between " : " from ");
	put_moment_of(out, args, "to", both ? " and " : " before ");
	put_moment_of(out, args, "at", " at ");
}

/* Of a part of a trace: what was asked for may lie outside of what it has. */
static void put_recorded(struct buf *out, const struct args *args, const struct trace_arg *t)
{
	enum { SHOWN = 3 };
	struct error ignored;
	struct kept_span *spans;
	uint64_t from = 0, to = UINT64_MAX;
	size_t n = thinned_spans(&t->reader->meta, &spans), within = 0;

	if (arg_if_any(args, "from") && arg_time(args, "from", &from, &ignored) < 0)
		from = 0;
	if (arg_if_any(args, "to") && arg_time(args, "to", &to, &ignored) < 0)
		to = UINT64_MAX;
	for (size_t i = 0; i < n; i++)
		within += spans[i].start_ns < to && spans[i].stop_ns > from;
	for (size_t i = 0; !within && i < n && i < SHOWN; i++) {
		uint64_t end = spans[i].stop_ns == UINT64_MAX ? trace_end_ns(t) : spans[i].stop_ns;

		buf_printf(out, i ? ", " : ": recorded is only ");
		put_moment(out, spans[i].start_ns);
		buf_printf(out, " to ");
		put_moment(out, end);
		buf_printf(out, " s");
	}
	if (!within && n > SHOWN)
		buf_printf(out, ", … (%zu more: upto info)", n - SHOWN);
	free(spans);
}

/* Append when the process that was asked for lived. */
static void put_life(struct buf *out, const struct args *args, const struct trace_arg *t)
{
	uint64_t start = UINT64_MAX, end = 0, at;
	struct error ignored;

	if (!t->asked_processes)
		return;
	for (size_t i = 0; i < t->threads.count; i++) {
		const struct thread *thread = &t->threads.list[i];

		if (!t->asked_processes[i])
			continue;
		start = thread->start_ns < start ? thread->start_ns : start;
		end = thread->end_ns > end ? thread->end_ns : end;
	}
	if (start == UINT64_MAX)
		return;
	if (start > trace_end_ns(t)) {
		buf_printf(out, ": it began at ");
		put_moment(out, start);
		buf_printf(out, " s, behind all that was recorded, which ends at ");
		put_moment(out, trace_end_ns(t));
		buf_printf(out, " s");
		return;
	}
	buf_printf(out, ": it was there from ");
	put_moment(out, start);
	buf_printf(out, " s to ");
	put_moment(out, end == UINT64_MAX ? trace_end_ns(t) : end);
	buf_printf(out, " s");
	if (command_has(args->command, "at") && arg_time(args, "at", &at, &ignored) == 0 && at >= start && at < end)
		buf_printf(out, ", and has no stack before it first runs");
}

/* It was called, and is part of whoever did. */
static void put_folded(struct buf *out, const struct args *args, const struct trace_arg *t)
{
	static const char *const options[] = { "function", "functions" };
	bool instruments;

	for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
		const char *list = command_has(args->command, options[i]) ? arg(args, options[i]) : NULL;

		if (list && fold_hides(t, list, &instruments)) {
			buf_printf(out, ": it is folded into who called it%s",
				   instruments ? "; --instruments shows it" : "");
			return;
		}
	}
}

void empty_say(const struct args *args, const struct trace_arg *t, const char *what)
{
	struct buf line = { 0 }, safe = { 0 };

	buf_printf(&line, "no %s", what);
	put_choice(&line, args);
	put_times(&line, args);
	put_life(&line, args, t);
	put_recorded(&line, args, t);
	put_folded(&line, args, t);
	buf_put_u8(&line, 0);
	terminal_escape(&safe, (char *)line.data);
	buf_put_u8(&safe, 0);
	/* if the answer could not be written, that error is reported instead */
	if (fflush(stdout) == 0)
		fprintf(stderr, "upto: %s\n", (char *)safe.data);
	buf_free(&line);
	buf_free(&safe);
}
