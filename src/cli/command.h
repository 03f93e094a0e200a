/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A command is one file that exports one of these, and a line in main.c's
 * table. Its options are declared here and nowhere else: parsing, --help, the
 * man page and completion all read this table.
 */
#ifndef UPTO_CLI_COMMAND_H
#define UPTO_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum exit_status {
	EXIT_OK = 0,
	EXIT_FAILED = 1,  /* something is wrong with what was asked about */
	EXIT_USAGE = 2,   /* something is wrong with how it was asked */
};

struct option {
	char letter;         /* 0: none */
	const char *name;    /* without the dashes */
	const char *arg;     /* "FILE"; NULL: a switch */
	const char *help;
};

enum { OPTIONS_MAX = 24, OPERANDS_MAX = 8 };

struct args;

struct command {
	const char *name;
	const char *operands;    /* "TRACE", "[KERNEL [INITRD]]" */
	const char *summary;     /* one line */
	const char *description; /* paragraphs of the man page */
	const char *examples;    /* lines of "command\n    what it does\n" */
	const struct option *options; /* ended by one without a name */
	unsigned min_operands, max_operands;
	bool rest;               /* takes "-- anything" */
	int (*run)(const struct args *args, struct error *err); /* an exit status; err is printed if it has text */
};

struct args {
	const struct command *command;
	const char *values[OPTIONS_MAX]; /* by place in the table; switches: "" when given */
	const char *operands[OPERANDS_MAX];
	unsigned n_operands;
	char **rest;             /* what stands behind --, NULL-terminated; NULL: no -- */
};

/* The option's value, or NULL when it was not given. The name must be in the command's table. */
const char *arg(const struct args *args, const char *name);

/* 0, or -1 with a message for a usage error. */
int args_parse(const struct command *command, char **argv, struct args *ret, struct error *err);

/* Whole numbers, percentages, times ("1.5s", "20ms", "300us", "12ns", "3" in seconds). -1 with a message naming the option. */
int arg_u64(const struct args *args, const char *name, uint64_t *value, struct error *err);
int arg_percent(const struct args *args, const char *name, double *percent, struct error *err);
int arg_time(const struct args *args, const char *name, uint64_t *ns, struct error *err);

void command_help(const struct command *command);
void command_man(const struct command *command);

#endif
