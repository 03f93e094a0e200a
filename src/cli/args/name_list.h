/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Selects names by lists such as "a,b", with the shell's patterns: "ext4_*", "*_init". */
#ifndef UPTO_CLI_ARGS_NAME_LIST_H
#define UPTO_CLI_ARGS_NAME_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* All names. The user may leave out " [" and what follows: "ext4_mount [ext4]". */
struct name_list {
	size_t count;
	const char *(*at)(const void *data, size_t i); /* NULL or "": the number has no name */
	const void *data;
	const char *what;   /* "function" */
	const char *where;  /* " in the trace", or "" */
	/* functions: a name in the source, by which none is called, is all that the compiler made of it: f.isra.0 */
	bool by_source;
	const char *hint;   /* why a name that is no pattern may not be there: "; it …"; NULL: nothing is known */
};

/* A function that the compiler inlined everywhere is in no list of symbols. */
#define FUNCTION_HINT "; it may have been inlined into its callers"

/*
 * Set the mark of each name that one of the lists has. Fails if a part of a list
 * is no name: "no function xyz in the trace; similar: xy". If others are, and `missed` is not NULL, that text goes
 * there, and it succeeds.
 */
int name_list_mark(const struct name_list *all, const char *const *lists, size_t n_lists, bool *marks,
		   struct error *missed, struct error *err);

#endif
