/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "command.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/decimal.h"
#include "base/near.h"

/* Find an option by its name or an old name. */
static int find_option(const struct command *command, const char *name, size_t len)
{
	for (int i = 0; command->options[i].name; i++) {
		const struct option *o = &command->options[i];

		if (strlen(o->name) == len && !strncmp(o->name, name, len))
			return o->means ? find_option(command, o->means, strlen(o->means)) : i;
	}
	return -1;
}

static int find_letter(const struct command *command, char letter)
{
	for (int i = 0; command->options[i].name; i++)
		if (command->options[i].letter == letter)
			return i;
	return -1;
}

const char *arg(const struct args *args, const char *name)
{
	int i = find_option(args->command, name, strlen(name));

	assert(i >= 0);
	return args->values[i];
}

bool command_has(const struct command *command, const char *name)
{
	return find_option(command, name, strlen(name)) >= 0;
}

const char *arg_if_any(const struct args *args, const char *name)
{
	int i = find_option(args->command, name, strlen(name));

	return i < 0 ? NULL : args->values[i];
}

bool args_read_all(const struct args *args)
{
	const char *with = args->command->reads_all_with;

	return args->command->reads_all || (with && arg(args, with));
}

bool args_ask_for_columns(const struct args *args)
{
	const char *output = arg_if_any(args, "output"), *sort = arg_if_any(args, "sort");

	return args->command->legends && args->command->legends->columns &&
	       ((output && !strcmp(output, "help")) || (sort && !strcmp(sort, "help")));
}

void args_deinit(struct args *args)
{
	for (size_t i = 0; i < OPTIONS_MAX; i++)
		free(args->joined[i]);
}

static int usage_error(const struct command *command, struct error *err, const char *what, const char *word)
{
	return error_set(err, "%s: %s '%s'; see 'upto %s --help'", command->name, what, word, command->name);
}

static int unknown_option(const struct command *command, struct error *err, const char *word)
{
	struct buf hint = { 0 };
	struct near near;

	near_init(&near, word + 2, strcspn(word + 2, "="));
	for (const struct option *o = command->options; o->name; o++)
		near_offer(&near, o->name);
	if (near.count)
		buf_printf(&hint, "; did you mean --%s?", near.best[0].name);
	else
		buf_printf(&hint, "; see 'upto %s --help'", command->name);
	buf_put_u8(&hint, 0);
	error_set(err, "%s: unknown option '%s'%s", command->name, word, (char *)hint.data);
	buf_free(&hint);
	near_deinit(&near);
	return -1;
}

/* Set the option's value. A list grows; other options have one value. */
static int set_value(struct args *args, int i, const char *value, struct error *err)
{
	const struct option *o = &args->command->options[i];
	char *joined;

	if (args->values[i] && strcmp(args->values[i], value)) {
		if (!o->join)
			return error_set(err, "%s: --%s is given twice: %s and %s", args->command->name, o->name,
					 args->values[i], value);
		joined = xasprintf("%s%c%s", args->values[i], o->join, value);
		free(args->joined[i]);
		args->joined[i] = joined;
		value = joined;
	}
	args->values[i] = value;
	return 0;
}

/* --name, --name=value, --name value. Returns how many words it took. */
static int parse_long(struct args *args, char **argv, struct error *err)
{
	const char *name = argv[0] + 2, *eq = strchr(name, '=');
	int i = find_option(args->command, name, eq ? (size_t)(eq - name) : strlen(name));

	if (i < 0)
		return unknown_option(args->command, err, argv[0]);
	if (!args->command->options[i].arg) {
		if (eq)
			return usage_error(args->command, err, "no value goes with", argv[0]);
		args->values[i] = "";
		return 1;
	}
	if (!eq && !argv[1])
		return usage_error(args->command, err, "a value is missing after", argv[0]);
	if (set_value(args, i, eq ? eq + 1 : argv[1], err) < 0)
		return -1;
	return eq ? 1 : 2;
}

static int unknown_letter(const struct command *command, struct error *err, const char *word, char letter)
{
	const char name[] = { '-', letter, '\0' };

	return usage_error(command, err, "unknown option", word[1] == letter ? word : name);
}

/* -x, -xyz, -x value, -xvalue, -xyz value */
static int parse_short(struct args *args, char **argv, struct error *err)
{
	const char *letter = argv[0] + 1;
	int i = find_letter(args->command, *letter);

	for (; i >= 0 && !args->command->options[i].arg; i = find_letter(args->command, *letter)) {
		args->values[i] = "";
		if (!*++letter)
			return 1;
	}
	if (i < 0)
		return unknown_letter(args->command, err, argv[0], *letter);
	if (!letter[1] && !argv[1])
		return usage_error(args->command, err, "a value is missing after", argv[0]);
	if (set_value(args, i, letter[1] ? letter + 1 : argv[1], err) < 0)
		return -1;
	return letter[1] ? 1 : 2;
}

int args_parse(const struct command *command, char **argv, struct args *ret, struct error *err)
{
	struct args *args = ret;

	*ret = (struct args){ .command = command };
	while (*argv) {
		int took = 1;

		if (!strcmp(*argv, "--")) {
			if (!command->rest)
				return usage_error(command, err, "nothing goes behind", "--");
			args->rest = argv + 1;
			break;
		}
		if (!strncmp(*argv, "--", 2)) {
			took = parse_long(args, argv, err);
		} else if (argv[0][0] == '-' && argv[0][1]) {
			took = parse_short(args, argv, err);
		} else {
			if (args->n_operands == command->max_operands)
				return usage_error(command, err, "one too many:", *argv);
			args->operands[args->n_operands++] = *argv;
		}
		if (took < 0)
			return -1;
		argv += took;
	}
	if (args->n_operands < command->min_operands && !arg(args, "help") && !args_ask_for_columns(args))
		return error_set(err, "%s: %.*s is missing; see 'upto %s --help'", command->name,
				 (int)strcspn(command->operands, " "), command->operands, command->name);
	return 0;
}

int args_give(struct args *args, const char *name, const char *value, struct error *err)
{
	int i = find_option(args->command, name, strlen(name));

	if (set_value(args, i, value, err) < 0)
		return -1;
	if (args->values[i] == value)
		args->values[i] = args->joined[i] = xstrdup(value);
	return 0;
}

int arg_u64(const struct args *args, const char *name, uint64_t *value, struct error *err)
{
	const char *text = arg(args, name);
	char *end;

	if (!text)
		return 0;
	errno = 0;
	*value = strtoull(text, &end, 0);
	if (errno || end == text || *end || *text == '-')
		return error_set(err, "--%s %s: not a whole number", name, text);
	return 0;
}

int arg_percent(const struct args *args, const char *name, double *percent, struct error *err)
{
	const char *text = arg(args, name);
	char *end;

	if (!text)
		return 0;
	*percent = strtod(text, &end);
	if (end == text || *end || !(*percent >= 0))
		return error_set(err, "--%s %s: not a percentage", name, text);
	return 0;
}

int arg_time(const struct args *args, const char *name, uint64_t *ns, struct error *err)
{
	const char *text = arg(args, name);

	if (!text || time_parse(text, ns))
		return 0;
	return error_set(err, "--%s %s: not a time: a number and s, ms, us or ns", name, text);
}
