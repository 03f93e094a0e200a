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
	EXIT_OK = 0,      /* there is an answer, even if it is empty */
	EXIT_FAILED = 1,  /* the trace or file is wrong, or does not have what was asked for */
	EXIT_USAGE = 2,   /* the command line is wrong */
};

struct option {
	char letter;         /* 0: none */
	const char *name;    /* without the dashes */
	const char *arg;     /* "FILE"; NULL: a switch */
	const char *help;
	char join;           /* separates the values of a list: -o a -o b is -o a,b; 0: a single value, given once */
	bool selects;        /* it chooses what is looked at: select_arg.h */
	bool intervals;      /* it chooses parts of the time, of which rows are shown */
	bool rows;           /* likewise, but what is chosen are the answer's rows: all is looked at */
	/* this is an old name of that option; parsing knows it, --help does not list it; NULL: it is not */
	const char *means;
};

enum { OPTIONS_MAX = 48, OPERANDS_MAX = 64 };

struct args;
struct column;

/* A key of JSON, and what it means. */
struct term {
	const char *name;
	const char *help;
};

/* Explains an answer in --help and the manual: columns, or keys of JSON. */
struct legend {
	const char *heading;          /* "columns"; NULL ends the list */
	const struct column *columns; /* tables/table.h; or */
	const struct term *terms;     /* ended by one without a name */
};

struct command {
	const char *name;
	const char *operands;    /* "TRACE", "[KERNEL [INITRD]]" */
	const char *summary;     /* one line */
	const char *description; /* paragraphs of the man page */
	const char *examples;    /* lines of "command\n    what it does\n" */
	const struct option *options; /* ended by one without a name */
	const struct legend *legends; /* NULL: none */
	unsigned min_operands, max_operands;
	const char *needs;       /* what a trace must have: a word of META's `absent`; NULL: nothing special */
	/* its sums are of all that ran, also of calls that --min-duration and the like leave out */
	bool of_all;
	/* it reads all of a trace, or prints while it reads: what is damaged is to be known before */
	bool reads_all;
	const char *reads_all_with; /* likewise where this option is given; NULL: none */
	bool for_programs;       /* what it prints is a file of another program's, whatever the user's locale is */
	bool rest;               /* takes "-- anything" */
	/* NULL, or what is done with the options before moments in them are looked up */
	int (*prepare)(struct args *args, struct error *err);
	int (*run)(const struct args *args, struct error *err); /* an exit status; err is printed if it has text */
};

struct args {
	const struct command *command;
	const char *values[OPTIONS_MAX]; /* by index in the table; a switch that was given: "" */
	char *joined[OPTIONS_MAX];       /* memory of lists that were given more than once */
	const char *operands[OPERANDS_MAX];
	unsigned n_operands;
	/* what one of several names is not, while the answer is of the others: printed behind it; never NULL */
	struct error *missed;
	bool tolerant;           /* of a trace whose events are damaged in parts, the others are asked about */
	char **rest;             /* words behind --, NULL-terminated; NULL: there is no -- */
};

/* The option's value; NULL if it was not given. The name must be in the command's table. */
const char *arg(const struct args *args, const char *name);

/* Does the command have that option? */
bool command_has(const struct command *command, const char *name);

/* The same, for an option that the command need not have. */
const char *arg_if_any(const struct args *args, const char *name);
/* Must what is damaged be known before (command.reads_all)? */
bool args_read_all(const struct args *args);

/*
 * Parse the command line. Returns 0, or -1 with a message for a usage error. The caller deinitialises *ret in both
 * cases.
 */
int args_parse(const struct command *command, char **argv, struct args *ret, struct error *err);
void args_deinit(struct args *args);

/* Does "-o help" or "-s help" ask for the list of columns? That needs no trace. */
bool args_ask_for_columns(const struct args *args);

/*
 * Whole numbers, percentages, times ("1.5s", "20ms", "300us", "12ns", "3" in seconds; exact to the nanosecond).
 * -1 with a message naming the option.
 */
/* Give an option as if the command line had it, behind what it has; the value is copied. Fails as args_parse() does. */
int args_give(struct args *args, const char *name, const char *value, struct error *err);

int arg_u64(const struct args *args, const char *name, uint64_t *value, struct error *err);
int arg_percent(const struct args *args, const char *name, double *percent, struct error *err);
int arg_time(const struct args *args, const char *name, uint64_t *ns, struct error *err);

/* Print what --help, "-o help" and --man print. */
void command_help(const struct command *command);
void command_columns(const struct command *command);
void command_man(const struct command *command);

#endif
