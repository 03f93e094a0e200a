/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints what describes a command: --help, the columns of -o help, and the manual page. */
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "tables/table.h"

/* Options stand by what they are for. What is in none of these lists is the command's own. */
enum option_group { GROUP_OWN, GROUP_TIME, GROUP_CALLS, GROUP_OUTPUT, OPTION_GROUPS };

static const char *const group_headings[] = {
	[GROUP_OWN] = "options",
	[GROUP_TIME] = "which part of the time",
	[GROUP_CALLS] = "which threads and calls",
	[GROUP_OUTPUT] = "how it is printed",
};

static bool is_one_of(const char *name, const char *const *names)
{
	for (; *names; names++)
		if (!strcmp(*names, name))
			return true;
	return false;
}

static enum option_group group_of(const struct option *o)
{
	static const char *const times[] = { "from", "to",    "boot",   "cpu",   "at",   "start",
					     "stop", "every", "before", "limit", "keep", NULL };
	static const char *const calls[] = {
		"pid", "comm", "min-duration", "max-duration", "no-interrupts", "only-interrupts", NULL
	};
	static const char *const output[] = { "output", "json", "sort", "lines", "exact", "wide", "help", NULL };

	/* of record, thin, layout, export and probe: a file, a format, and whose lines */
	if (o->arg && (!strcmp(o->arg, "FILE") || !strcmp(o->arg, "kfi") || !strcmp(o->arg, "FUNC")))
		return GROUP_OWN;
	if (is_one_of(o->name, times))
		return GROUP_TIME;
	if (is_one_of(o->name, output))
		return GROUP_OUTPUT;
	return o->selects || o->rows || o->intervals || is_one_of(o->name, calls) ? GROUP_CALLS : GROUP_OWN;
}

/* Calls print() with each option of the group that --help lists, and heading() before the first. */
static void for_group(const struct command *command, enum option_group group, void (*heading)(const char *text),
		      void (*print)(const struct option *o))
{
	bool any = false;

	for (const struct option *o = command->options; o->name; o++) {
		if (o->means || group_of(o) != group)
			continue;
		if (!any)
			heading(group_headings[group]);
		any = true;
		print(o);
	}
}

static void print_heading(const char *text)
{
	printf("\n%s:\n", text);
}

static void print_option(const struct option *o)
{
	char left[64];

	snprintf(left, sizeof left, "%c%c%s --%s%s%s", o->letter ? '-' : ' ', o->letter ? o->letter : ' ',
		 o->letter ? "," : " ", o->name, o->arg ? " " : "", o->arg ? o->arg : "");
	printf("  %-28s %s\n", left, o->help);
}

/* Print text in lines of up to 100 letters; lines after the first are indented. */
static void print_wrapped(const char *text, unsigned indent)
{
	enum { WIDTH = 100 };
	unsigned at = indent;

	while (*text) {
		unsigned n = (unsigned)strcspn(text, " ");

		if (at > indent && at + 1 + n > WIDTH) {
			printf("\n%*s", indent, "");
			at = indent;
		}
		at += (unsigned)printf("%s%.*s", at > indent ? " " : "", (int)n, text);
		text += n + (text[n] == ' ');
	}
	putchar('\n');
}

static void print_legend(const struct legend *l)
{
	enum { NAME = 15, TITLE = 13, TERM = 28 };

	if (l->columns)
		printf("%s (-o, -s; JSON has them all, by these names, _ns in nanoseconds):\n", l->heading);
	else
		printf("%s:\n", l->heading);
	for (const struct column *c = l->columns; c && c->name; c++) {
		printf("  %-*s %-*s ", NAME, c->name, TITLE, c->title);
		print_wrapped(c->help, 2 + NAME + 1 + TITLE + 1);
	}
	for (const struct term *t = l->terms; t && t->name; t++) {
		printf("  %-*s ", TERM, t->name);
		print_wrapped(t->help, 2 + TERM + 1);
	}
}

void command_columns(const struct command *command)
{
	for (const struct legend *l = command->legends; l && l->heading; l++) {
		if (l != command->legends)
			printf("\n%s:\n", l->heading);
		for (const struct column *c = l->columns; c && c->name; c++)
			printf("%-16s %-13s %s\n", c->name, c->title, c->help);
	}
}

void command_help(const struct command *command)
{
	printf("usage: upto %s [options] %s\n\n%s%s\n", command->name, command->operands, command->summary,
	       command->summary[strlen(command->summary) - 1] == '?' ? "" : ".");
	for (int i = 0; i < OPTION_GROUPS; i++)
		for_group(command, (enum option_group)i, print_heading, print_option);
	for (const struct legend *l = command->legends; l && l->heading; l++) {
		putchar('\n');
		print_legend(l);
	}
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

static void man_heading(const char *text)
{
	if (strcmp(text, group_headings[GROUP_OWN]) != 0)
		printf(".SS %s\n", text);
}

static void man_option(const struct option *o)
{
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

static void man_term(const char *name, const char *title, const char *help)
{
	printf(".TP\n.B ");
	roff(name);
	if (title)
		printf(" \\fR(%s)", title);
	printf("\n");
	roff(help);
	printf("\n");
}

static void man_legend(const struct legend *l)
{
	printf(".SH ");
	for (const char *p = l->heading; *p; p++)
		putchar(*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p);
	putchar('\n');
	if (l->columns)
		printf("JSON has them all, by these names; what ends in _ns is in nanoseconds. \\-o and \\-s take a name or a title.\n");
	for (const struct column *c = l->columns; c && c->name; c++)
		man_term(c->name, c->title, c->help);
	for (const struct term *t = l->terms; t && t->name; t++)
		man_term(t->name, NULL, t->help);
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
	for (int i = 0; i < OPTION_GROUPS; i++)
		for_group(command, (enum option_group)i, man_heading, man_option);
	for (const struct legend *l = command->legends; l && l->heading; l++)
		man_legend(l);
	printf(".SH EXAMPLES\n.nf\n");
	roff(command->examples);
	printf(".fi\n.SH EXIT STATUS\n0: answered, also if there is nothing to show; 1: the trace does not have what was asked for,\n"
	       "or it is damaged, or something failed; 2: wrong usage. Where a guest, a program or a command is run, its own.\n"
	       ".SH SEE ALSO\n.BR upto (1)\n");
}
