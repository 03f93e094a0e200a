/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/args/moment_arg.h"
#include "cli/args/select_arg.h"
#include "cli/print/ascii_output.h"
#include "cli/print/terminal.h"
#include "cli/record/stand_in.h"
#include "commands.h"
#include "config.h"
#include "memory_limit.h"
#include "base/near.h"

/* In the order of --help, by what one wants to do; a heading stands before the first of its commands. */
static const struct command *const commands[] = {
	&cmd_boot, &cmd_record, &cmd_run, &cmd_replay,
	&cmd_exec, &cmd_host,
	&cmd_report, &cmd_ui,
	&cmd_timeline, &cmd_why, &cmd_waits, &cmd_latency, &cmd_disk, &cmd_events, &cmd_probe, &cmd_log, &cmd_object,
	&cmd_top, &cmd_tree, &cmd_first,
	&cmd_calls, &cmd_stack, &cmd_syscalls, &cmd_ps,
	&cmd_info, &cmd_check, &cmd_thin, &cmd_symbols, &cmd_layout, &cmd_dump, &cmd_export, &cmd_import,
	&cmd_kd, &cmd_addr2sym, &cmd_sym2addr,
};

enum { COMMANDS = sizeof commands / sizeof *commands };

static const struct { const struct command *first; const char *heading; } tasks[] = {
	{ &cmd_boot, "record a guest" },
	{ &cmd_exec, "record a program of one's own, or this kernel" },
	{ &cmd_report, "my boot, or a unit of it, is slow; it panicked" },
	{ &cmd_top, "which code costs the time" },
	{ &cmd_calls, "what does this path do, and this process" },
	{ &cmd_info, "traces, and what they know" },
	{ &cmd_kd, "logs and configurations of Kernel Function Instrumentation (KFI, KFT)" },
};

static const struct command *find(const char *name)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

static void print_task(const struct command *first)
{
	for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
		if (tasks[i].first == first)
			printf("%s%s:\n", i ? "\n" : "", tasks[i].heading);
}

static void help(void)
{
	printf("usage: upto [--no-pager] COMMAND [options] …\n       upto TRACE\n\n"
	       "What is this machine up to? Records every function call of a whole guest and answers questions about it.\n\n");
	for (size_t i = 0; i < COMMANDS; i++) {
		print_task(commands[i]);
		printf("  %-10s %s\n", commands[i]->name, commands[i]->summary);
	}
	printf("\n'upto help COMMAND' tells more, 'upto TRACE' what a trace holds. Start with: upto boot KERNEL INITRD, then: upto timeline trace.upto\n");
}

static void print_word(const char *word, const char *more, const char *help, bool described)
{
	printf("%s%s%s%s\n", word, more, described ? "\t" : "", described ? help : "");
}

/* For the completion scripts: the words that may come next, each with a tab and its meaning if the shell shows that. */
static int complete(const char *name, bool described)
{
	const struct command *command = name ? find(name) : NULL;

	for (size_t i = 0; !command && i < COMMANDS; i++)
		print_word(commands[i]->name, "", commands[i]->summary, described);
	for (const struct option *o = command ? command->options : NULL; o && o->name; o++) {
		if (o->means)
			continue;
		printf("--");
		print_word(o->name, o->arg ? "=" : "", o->help, described);
	}
	return EXIT_OK;
}

/* Print one line with control characters escaped, since names in it may come from anybody. */
static void complain(const char *text)
{
	struct buf safe = { 0 };

	terminal_escape(&safe, text);
	buf_put_u8(&safe, 0);
	fprintf(stderr, "upto: %s\n", (char *)safe.data);
	buf_free(&safe);
}

/* The same, and the lines that show where in a program it is. */
static void complain_of(const struct error *err)
{
	char text[sizeof err->text], *rest = text;

	memcpy(text, err->text, sizeof text);
	complain(err->has_lines ? strsep(&rest, "\n") : text);
	while (err->has_lines && rest) {
		struct buf safe = { 0 };

		terminal_escape(&safe, strsep(&rest, "\n"));
		buf_put_u8(&safe, 0);
		fprintf(stderr, "%s\n", (char *)safe.data);
		buf_free(&safe);
	}
}

static int no_command(const char *name)
{
	struct error err;
	struct near near;

	near_init(&near, name, strlen(name));
	for (size_t i = 0; i < COMMANDS; i++)
		near_offer(&near, commands[i]->name);
	if (near.count)
		error_set(&err, "'%s' is no command; did you mean %s?", name, near.best[0].name);
	else
		error_set(&err, "'%s' is no command; see 'upto --help'", name);
	near_deinit(&near);
	complain(err.text);
	return EXIT_USAGE;
}

/* The manual page of a command, or of upto itself, as roff. */
static int man(const char *name)
{
	const struct command *command = name ? find(name) : NULL;

	if (command) {
		command_man(command);
		return EXIT_OK;
	}
	if (name)
		return no_command(name);
	printf(".TH UPTO 1\n.SH NAME\nupto \\- record every function call of a guest machine and ask about it\n"
	       ".SH SYNOPSIS\n.B upto\n[\\-\\-no\\-pager] \\fICOMMAND\\fR [options] …\n.SH DESCRIPTION\n"
	       "Records every function call and return of a whole guest, from the reset vector through firmware, "
	       "kernel and processes, under QEMU's TCG, and answers questions about the trace.\n.SH COMMANDS\n");
	for (size_t i = 0; i < COMMANDS; i++)
		printf(".TP\n.BR upto\\-%s (1)\n%s\n", commands[i]->name, commands[i]->summary);
	printf(".SH ENVIRONMENT\n.TP\n.B UPTO_PAGER, PAGER\nthe pager for output on a terminal; empty: none\n"
	       ".TP\n.B LC_ALL, LC_CTYPE, LANG\nif the first of these that is set names a locale without UTF-8, what is printed for people is ASCII\n" MEMORY_LIMIT_MAN
		       STAND_IN_MAN ".SH SEE ALSO\n.BR upto (5):\nthe trace file\n");
	return EXIT_OK;
}

static int run_once(struct args *args, struct error *err)
{
	int r = moments_resolve(args, err);

	return r == EXIT_OK ? args->command->run(args, err) : r;
}

/*
 * Where some of a trace's events cannot be had, those that can are asked about; but not if the answer has been printed
 * in part.
 */
static int run_tolerant(struct args *args, struct error *err)
{
	int r = run_once(args, err);

	if (r == EXIT_OK || !err->damaged || args->tolerant || args_read_all(args))
		return r;
	terminal_end_progress();
	args->tolerant = true;
	*err = (struct error){ .text = "" };
	return run_once(args, err);
}

static int answer(struct args *args)
{
	struct error err = { .text = "" }, missed = { .text = "" };
	int r;

	args->missed = &missed;
	if (ascii_output_wanted() && !arg_if_any(args, "json") &&
	    (arg(args, "help") || !args->command->for_programs))
		ascii_output(&stdout, STDOUT_FILENO);
	if (arg(args, "help")) {
		command_help(args->command);
		return EXIT_OK;
	}
	if (args_ask_for_columns(args)) {
		command_columns(args->command);
		return EXIT_OK;
	}
	if (select_check(args, &err) < 0 || (args->command->prepare && args->command->prepare(args, &err) < 0))
		r = EXIT_USAGE;
	else
		r = run_tolerant(args, &err);
	terminal_end_progress();
	if (missed.text[0] && !err.text[0]) {
		err = missed;
		r = r == EXIT_OK ? EXIT_FAILED : r;
	}
	if (r != EXIT_OK && err.text[0]) {
		fflush(stdout);
		complain_of(&err);
	}
	return r;
}

static int run(const struct command *command, char **argv)
{
	struct error err;
	struct args args;
	int r = EXIT_USAGE;

	if (args_parse(command, argv, &args, &err) < 0)
		complain(err.text);
	else
		r = answer(&args);
	args_deinit(&args);
	return r;
}

static int help_on(const char *name)
{
	const struct command *command = name ? find(name) : NULL;

	if (name && !command)
		return no_command(name);
	if (ascii_output_wanted())
		ascii_output(&stdout, STDOUT_FILENO);
	if (command)
		command_help(command);
	else
		help();
	return EXIT_OK;
}

/* Report a word that is no command; for the name of a file, say what to do with the file. */
static int guess(char **argv)
{
	struct error err;

	if (access(*argv, R_OK) < 0)
		return no_command(*argv);
	if (!argv[1] || argv[1][0] == '-')
		return run(&cmd_info, argv);
	if (find(argv[1]))
		error_set(&err, "'%s' is no command, but a file: upto %s %s", *argv, argv[1], *argv);
	else
		error_set(&err, "'%s' is no command, but a file; see 'upto --help'", *argv);
	complain(err.text);
	return EXIT_USAGE;
}

/* The command that a program of this name is, as the programs that came with KFI were called; NULL: none. */
static const struct command *find_program(const char *path)
{
	static const struct command *const programs[] = { &cmd_kd, &cmd_addr2sym, &cmd_sym2addr };
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
		if (!strcmp(programs[i]->name, name))
			return programs[i];
	return NULL;
}

static int dispatch(char **argv)
{
	const struct command *command;

	if (*argv && !strcmp(*argv, "--no-pager")) {
		terminal_no_pager();
		argv++;
	}
	if (!*argv) {
		help_on(NULL);
		return EXIT_USAGE;
	}
	if (!strcmp(*argv, "--help") || !strcmp(*argv, "-h") || !strcmp(*argv, "help"))
		return help_on(argv[1]);
	if (!strcmp(*argv, "--version") || !strcmp(*argv, "-V")) {
		puts("upto " UPTO_VERSION);
		return EXIT_OK;
	}
	if (!strcmp(*argv, "--complete"))
		return complete(argv[1], false);
	if (!strcmp(*argv, "--describe"))
		return complete(argv[1], true);
	if (!strcmp(*argv, "--man"))
		return man(argv[1]);
	command = find(*argv);
	return command ? run(command, argv + 1) : guess(argv);
}

int main(int argc, char **argv)
{
	const struct command *program = argc ? find_program(argv[0]) : NULL;
	int r = EXIT_USAGE, failed;

	/* for the widths of characters */
	setlocale(LC_CTYPE, "C.UTF-8");
	if (ascii_output_wanted())
		ascii_output(&stderr, STDERR_FILENO);
	if (argc && stand_in_is(argv[0]))
		return stand_in_run(argv);
	if (argc)
		r = program ? run(program, argv + 1) : dispatch(argv + 1);
	failed = terminal_finish();

	if (failed && r == EXIT_OK) {
		fprintf(stderr, "upto: standard output: %s\n", strerror(failed));
		r = EXIT_FAILED;
	}
	return r;
}
