/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace_lacks.h"

#include <string.h>

#include "replay/unknown.h"
#include "select/condition.h"

static const struct { const char *word, *text;
} words[] = {
	{ "instructions", "instructions" },
	{ "stacks", "stacks" },
	{ "exits", "ends of calls" },
	{ "tasks", "threads" },
	{ "interrupts", "interrupts" },
	{ "syscalls", "system calls" },
	{ "facts", "facts of the kernel's own" },
	{ "addresses", "addresses" },
	{ "thunks", "steps of thunks" },
};

/* Options with which a command needs more. `value` NULL: with any. */
static const struct { const char *option, *value, *needs;
} options[] = {
	{ "clock", "insns", "instructions" },
	{ "total", NULL, "stacks" },
	{ "by", "interrupt", "interrupts" },
	{ "by", "process", "tasks" },
	{ "by", "thread", "tasks" },
	{ "no-interrupts", NULL, "interrupts" },
	{ "only-interrupts", NULL, "interrupts" },
	{ "pid", NULL, "tasks" },
	{ "comm", NULL, "tasks" },
	{ "thunks", NULL, "thunks" },
};

/* Options that choose calls, where they do that. */
static const char *const of_calls[] = { "min-duration", "max-duration", "functions", "not",   "below",
					"depth",        "kernel",       "user",      "module" };

/* What conditions of a kind need; NULL: only what every trace has. */
static const char *const of_conditions[] = {
	[CONDITION_EXIT] = "exits", [CONDITION_EXEC] = "tasks", [CONDITION_LOG] = "facts",
	[CONDITION_TEST] = "facts"
};

bool trace_lacks(const struct trace_arg *t, const char *what)
{
	return reader_lacks(t->reader, what);
}

/* What a recording has not, since it was not known of its kernel. */
static int need_known(const struct trace_arg *t, const char *what, struct error *err)
{
	enum unknown unknown = !strcmp(what, "tasks")   ? UNKNOWN_THREADS
			       : !strcmp(what, "facts") ? UNKNOWN_NAMES
							: UNKNOWN_KINDS;
	struct buf text = { 0 };

	if (unknown == UNKNOWN_KINDS || !is_unknown(t->reader, &t->threads, unknown))
		return 0;
	unknown_put(t->reader, unknown, &text);
	error_set(err, "%s: %.*s", t->reader->path, (int)text.len, (char *)text.data);
	buf_free(&text);
	return -1;
}

int trace_need(const struct trace_arg *t, const char *what, struct error *err)
{
	const char *from = meta_get(&t->reader->meta, "imported"), *text = what;

	if (!trace_lacks(t, what))
		return need_known(t, what, err);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (!strcmp(words[i].word, what))
			text = words[i].text;
	if (!from && !strcmp(what, "thunks"))
		return error_set(err, "%s: %s were not recorded: 'upto record --thunks' does that", t->reader->path,
				 text);
	return error_set(err, "%s: was imported from %s: it has no %s", t->reader->path, from ? from : "elsewhere",
			 text);
}

static int condition_has_needs(const struct args *args, const char *option, const struct trace_arg *t,
			       struct error *err)
{
	const char *text = arg_if_any(args, option);
	struct condition c = { 0 };
	int result = text ? condition_parse(option, text, &c, err) : 0;

	if (result == 0 && c.kind < sizeof of_conditions / sizeof *of_conditions && of_conditions[c.kind])
		result = trace_need(t, of_conditions[c.kind], err);
	condition_deinit(&c);
	return result;
}

static int choice_has_needs(const struct args *args, const struct trace_arg *t, struct error *err)
{
	const struct option *own = args->command->options;

	for (int i = 0; own[i].name; i++)
		for (size_t k = 0; own[i].selects && args->values[i] && k < sizeof of_calls / sizeof *of_calls; k++)
			if (!strcmp(own[i].name, of_calls[k]) && trace_need(t, "stacks", err) < 0)
				return -1;
	if (condition_has_needs(args, "start", t, err) < 0)
		return -1;
	return condition_has_needs(args, "stop", t, err);
}

int trace_has_needs(const struct args *args, const struct trace_arg *t, struct error *err)
{
	const char *value;

	if (args->command->needs && trace_need(t, args->command->needs, err) < 0)
		return -1;
	for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
		value = arg_if_any(args, options[i].option);
		if (value && (!options[i].value || !strcmp(value, options[i].value)) &&
		    trace_need(t, options[i].needs, err) < 0)
			return -1;
	}
	return choice_has_needs(args, t, err);
}
