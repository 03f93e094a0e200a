/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "config.h"
#include "terminal.h"

/* In the order of --help. A command more is a line more here, and its file. */
static const struct command *const commands[] = {
	&cmd_record, &cmd_boot, &cmd_top, &cmd_first, &cmd_syscalls, &cmd_ps, &cmd_tree, &cmd_calls, &cmd_stack, &cmd_dump, &cmd_info, &cmd_check, &cmd_symbols,
};

enum { COMMANDS = sizeof commands / sizeof *commands };

static const struct command *find(const char *name)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

static void help(void)
{
	printf("usage: upto [--no-pager] COMMAND [options] …\n\n"
	       "What is this machine up to? Records every function call of a whole guest and answers questions about it.\n\n");
	for (size_t i = 0; i < COMMANDS; i++)
		printf("  %-10s %s\n", commands[i]->name, commands[i]->summary);
	printf("\n'upto COMMAND --help' tells more. Start with: upto boot KERNEL INITRD, then: upto top trace.upto\n");
}

/* For the completion script: words that may stand next. */
static int complete(const char *name)
{
	const struct command *command = name ? find(name) : NULL;

	if (!command)
		for (size_t i = 0; i < COMMANDS; i++)
			puts(commands[i]->name);
	else
		for (const struct option *o = command->options; o->name; o++)
			printf("--%s%s\n", o->name, o->arg ? "=" : "");
	return EXIT_OK;
}

/* The manual page of a command, or of upto itself, as roff. */
static int man(const char *name)
{
	const struct command *command = name ? find(name) : NULL;

	if (command) {
		command_man(command);
		return EXIT_OK;
	}
	if (name) {
		fprintf(stderr, "upto: '%s' is no command; see 'upto --help'\n", name);
		return EXIT_USAGE;
	}
	printf(".TH UPTO 1\n.SH NAME\nupto \\- record every function call of a guest machine and ask about it\n"
	       ".SH SYNOPSIS\n.B upto\n[\\-\\-no\\-pager] \\fICOMMAND\\fR [options] …\n.SH DESCRIPTION\n"
	       "Records every function call and return of a whole guest, from the reset vector through firmware, "
	       "kernel and processes, under QEMU's TCG, and answers questions about the trace.\n.SH COMMANDS\n");
	for (size_t i = 0; i < COMMANDS; i++)
		printf(".TP\n.BR upto\\-%s (1)\n%s\n", commands[i]->name, commands[i]->summary);
	printf(".SH ENVIRONMENT\n.TP\n.B UPTO_PAGER, PAGER\nthe pager for output on a terminal; empty: none\n");
	return EXIT_OK;
}

/* One line, with control characters made harmless: names in it may be anybody's. */
static void complain(const char *text)
{
	struct buf safe = { 0 };

	terminal_escape(&safe, text);
	buf_put_u8(&safe, 0);
	fprintf(stderr, "upto: %s\n", (char *)safe.data);
	buf_free(&safe);
}

static int run(const struct command *command, char **argv)
{
	struct error err = { .text = "" };
	struct args args;
	int r;

	if (args_parse(command, argv, &args, &err) < 0) {
		complain(err.text);
		return EXIT_USAGE;
	}
	if (arg(&args, "help")) {
		command_help(command);
		return EXIT_OK;
	}
	r = command->run(&args, &err);
	terminal_end_progress();
	if (r != EXIT_OK && err.text[0]) {
		fflush(stdout);
		complain(err.text);
	}
	return r;
}

static int dispatch(char **argv)
{
	const struct command *command;

	if (*argv && !strcmp(*argv, "--no-pager")) {
		terminal_no_pager();
		argv++;
	}
	if (!*argv) {
		help();
		return EXIT_USAGE;
	}
	if (!strcmp(*argv, "--help") || !strcmp(*argv, "-h") || !strcmp(*argv, "help")) {
		help();
		return EXIT_OK;
	}
	if (!strcmp(*argv, "--version")) {
		puts("upto " UPTO_VERSION);
		return EXIT_OK;
	}
	if (!strcmp(*argv, "--complete"))
		return complete(argv[1]);
	if (!strcmp(*argv, "--man"))
		return man(argv[1]);
	command = find(*argv);
	if (!command) {
		fprintf(stderr, "upto: '%s' is no command; see 'upto --help'\n", *argv);
		return EXIT_USAGE;
	}
	return run(command, argv + 1);
}

int main(int argc, char **argv)
{
	int r = argc ? dispatch(argv + 1) : EXIT_USAGE;
	int failed = terminal_finish();

	if (failed && r == EXIT_OK) {
		fprintf(stderr, "upto: standard output: %s\n", strerror(failed));
		r = EXIT_FAILED;
	}
	return r;
}
