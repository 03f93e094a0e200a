/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Orders the guest's threads as a tree: processes below their parents, threads below their process. The programs that a
 * thread ran come one after the other.
 */
#ifndef UPTO_ANALYSIS_PROCESS_TREE_H
#define UPTO_ANALYSIS_PROCESS_TREE_H

#include "replay/threads.h"

struct process_row {
	size_t program;  /* number (threads.h); threads.n_programs stands for what ran before there were threads */
	unsigned depth;  /* how many threads above it in the tree have rows */
};

/*
 * Rows in the order of a walk through the tree; the caller frees them. Only programs that are marked in `shown`, by
 * number, have a row; NULL: all.
 */
struct process_row *process_tree(const struct threads *t, const bool *shown, size_t *ret_count);

#endif
