/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a phrase (replay/shapes.h) adds to a call tree. Where its calls are, below the node of the call that it is
 * behind, is found once, and kept: so most calls of a trace are added up without being replayed.
 */
#ifndef UPTO_ANALYSIS_TREE_PHRASES_H
#define UPTO_ANALYSIS_TREE_PHRASES_H

#include "call_nodes.h"

/* Of one replay. */
struct landings;

struct landings *landings_new(void);
void landings_free(struct landings *l);

/*
 * Add what is behind the call on top of the stack, whose node is `node`. `outer` is the node that it was called in, and
 * that what it jumped to is below.
 */
void tree_add_phrase(struct call_tree *t, struct landings *l, const struct names *names, uint32_t node, uint32_t outer,
		     const struct stacks_phrase *p);

#endif
