/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions by name: --function, --kernel, --user, --module, and operands behind TRACE. */
#ifndef UPTO_CLI_ARGS_FUNCTION_ARG_H
#define UPTO_CLI_ARGS_FUNCTION_ARG_H

#include "cli/command.h"
#include "replay/names.h"

#define FUNCTION_OPTION(help) { 'F', "function", "NAMES", help ": a,b; shell patterns: *open*", ',' }

#define ONLY_OPTIONS                                                                    \
	{ 0, "kernel", NULL, "only functions of the kernel and its modules" },          \
	{ 0, "user", NULL, "only functions of programs and libraries" },                \
	{ 0, "module", "NAMES", "only functions of these modules, programs or libraries: ext4, libc.*", ',' }, \
	FUNCTION_OPTION("only these functions")

/* The functions that the user wants to see, as marks by number. The caller frees *ret, also after an error. */
int only_arg(const struct args *args, const struct names *names, bool **ret, struct error *err);

/*
 * The functions of --function and of the operands behind TRACE, as marks by number. *ret is
 * NULL if none is given.
 */
int functions_arg(const struct args *args, const struct names *names, bool **ret, struct error *err);
/*
 * Likewise of another option's list, which was given. A name that is none, where others are, goes to args->missed: both
 * errors name the option.
 */
int functions_option(const struct args *args, const char *option, const struct names *names, bool **ret,
		     struct error *err);
/* The functions of a list as --function takes it. */
int functions_named(const char *list, const struct names *names, bool **ret, struct error *err);

#endif
