/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A tree of calls: callers before their callees, the callee that took longest first. */
#ifndef UPTO_TABLES_TREE_TABLE_H
#define UPTO_TABLES_TREE_TABLE_H

#include "analysis/calls/calltree.h"
#include "table.h"

extern const struct column tree_columns[];

/* Which paths have rows. */
struct tree_choice {
	uint64_t depth;   /* so many levels; 0: all */
	double min_pct;   /* of `all`, or, if these are functions that were asked for by name, of each of them */
	bool named;       /* they were: each has a row, however small it is */
	bool left_out;    /* calls were left out of the trace, or are folded by choice */
	bool with_args;   /* what calls were given stands behind the function's name */
	/* Not NULL: the outermost rows are threads or, if `processes`, processes (struct call_tree_apart) */
	const struct threads *apart;
	bool processes;
	bool by_ns;       /* shares and order are of guest time, not of instructions */
};

/* `all`: the tree of the whole trace; `tree`: that or a part of it. */
void tree_table_init(struct table *ret, const struct names *names, const struct call_tree *all,
		     const struct call_tree *tree, const struct tree_choice *choice);

#endif
