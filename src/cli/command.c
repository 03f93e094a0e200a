/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "command.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int find_option(const struct command *command, const char *name, size_t len)
{
	for (int i = 0; command->options[i].name; i++)
		if (strlen(command->options[i].name) == len && !strncmp(command->options[i].name, name, len))
			return i;
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

static int usage_error(const struct command *command, struct error *err, const char *what, const char *word)
{
	return error_set(err, "%s: %s '%s'; see 'upto %s --help'", command->name, what, word, command->name);
}

/* --name, --name=value, --name value. Returns how many words it took. */
static int parse_long(struct args *args, char **argv, struct error *err)
{
	const char *name = argv[0] + 2, *eq = strchr(name, '=');
	int i = find_option(args->command, name, eq ? (size_t)(eq - name) : strlen(name));

	if (i < 0)
		return usage_error(args->command, err, "unknown option", argv[0]);
	if (!args->command->options[i].arg) {
		if (eq)
			return usage_error(args->command, err, "no value goes with", argv[0]);
		args->values[i] = "";
		return 1;
	}
	args->values[i] = eq ? eq + 1 : argv[1];
	if (!args->values[i])
		return usage_error(args->command, err, "a value is missing after", argv[0]);
	return eq ? 1 : 2;
}

/* -x, -x value, -xvalue */
static int parse_short(struct args *args, char **argv, struct error *err)
{
	int i = find_letter(args->command, argv[0][1]);

	if (i < 0)
		return usage_error(args->command, err, "unknown option", argv[0]);
	if (!args->command->options[i].arg) {
		if (argv[0][2])
			return usage_error(args->command, err, "no value goes with", argv[0]);
		args->values[i] = "";
		return 1;
	}
	args->values[i] = argv[0][2] ? argv[0] + 2 : argv[1];
	if (!args->values[i])
		return usage_error(args->command, err, "a value is missing after", argv[0]);
	return argv[0][2] ? 1 : 2;
}

int args_parse(const struct command *command, char **argv, struct args *ret, struct error *err)
{
	struct args args = { .command = command };

	while (*argv) {
		int took = 1;

		if (!strcmp(*argv, "--")) {
			if (!command->rest)
				return usage_error(command, err, "nothing goes behind", "--");
			args.rest = argv + 1;
			break;
		}
		if (!strncmp(*argv, "--", 2)) {
			took = parse_long(&args, argv, err);
		} else if (argv[0][0] == '-' && argv[0][1]) {
			took = parse_short(&args, argv, err);
		} else {
			if (args.n_operands == command->max_operands)
				return usage_error(command, err, "one too many:", *argv);
			args.operands[args.n_operands++] = *argv;
		}
		if (took < 0)
			return -1;
		argv += took;
	}
	if (args.n_operands < command->min_operands && !arg(&args, "help"))
		return error_set(err, "%s: %s is missing; see 'upto %s --help'", command->name, command->operands,
				 command->name);
	*ret = args;
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
	static const struct { const char *unit; double ns; } units[] = {
		{ "", 1e9 }, { "s", 1e9 }, { "ms", 1e6 }, { "us", 1e3 }, { "ns", 1 },
	};
	const char *text = arg(args, name);
	double value;
	char *end;

	if (!text)
		return 0;
	value = strtod(text, &end);
	for (size_t i = 0; end != text && i < sizeof units / sizeof *units; i++)
		if (!strcmp(end, units[i].unit) && value >= 0 && value * units[i].ns < 1.8e19) {
			*ns = (uint64_t)(value * units[i].ns);
			return 0;
		}
	return error_set(err, "--%s %s: not a time: a number and s, ms, us or ns", name, text);
}

static void print_option(const struct option *o)
{
	char left[64];

	snprintf(left, sizeof left, "%c%c%s --%s%s%s", o->letter ? '-' : ' ', o->letter ? o->letter : ' ',
		 o->letter ? "," : " ", o->name, o->arg ? " " : "", o->arg ? o->arg : "");
	printf("  %-28s %s\n", left, o->help);
}

void command_help(const struct command *command)
{
	printf("usage: upto %s [options] %s\n\n%s%s\n\noptions:\n", command->name, command->operands, command->summary,
	       command->summary[strlen(command->summary) - 1] == '?' ? "" : ".");
	for (const struct option *o = command->options; o->name; o++)
		print_option(o);
	printf("\nexamples:\n%s", command->examples);
}

/* roff wants backslashes, and dots and quotes at a line's beginning, escaped */
static void roff(const char *text)
{
	bool start = true;

	for (; *text; text++) {
		if (start && (*text == '.' || *text == '\''))
			fputs("\\&", stdout);
		if (*text == '\\')
			fputs("\\e", stdout);
		else if (*text == '-')
			fputs("\\-", stdout);
		else
			putchar(*text);
		start = *text == '\n';
	}
}

void command_man(const struct command *command)
{
	printf(".TH UPTO-%s 1\n.SH NAME\nupto-%s \\- ", command->name, command->name);
	roff(command->summary);
	printf("\n.SH SYNOPSIS\n.B upto %s\n[options] ", command->name);
	roff(command->operands);
	printf("\n.SH DESCRIPTION\n");
	roff(command->description);
	printf("\n.SH OPTIONS\n");
	for (const struct option *o = command->options; o->name; o++) {
		printf(".TP\n.B ");
		if (o->letter)
			printf("\\-%c, ", o->letter);
		printf("\\-\\-");
		roff(o->name);
		if (o->arg)
			printf(" \\fI%s\\fR", o->arg);
		printf("\n");
		roff(o->help);
		printf("\n");
	}
	printf(".SH EXAMPLES\n.nf\n");
	roff(command->examples);
	printf(".fi\n.SH EXIT STATUS\n0: done; 1: something failed or is damaged; 2: wrong usage.\n"
	       ".SH SEE ALSO\n.BR upto (1)\n");
}
