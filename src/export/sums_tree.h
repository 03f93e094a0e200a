/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tree of all calls as formats of sums take it: with the names of its nodes, and told apart as it is asked for. */
#ifndef UPTO_EXPORT_SUMS_TREE_H
#define UPTO_EXPORT_SUMS_TREE_H

#include "analysis/calls/calltree.h"
#include "export.h"

struct sums_tree {
	struct call_tree tree;
	const struct session *session;
	uint32_t *whose; /* by thread's number + 1; NULL: not told apart */
	bool by_ns;
};

/* Call sums_tree_deinit() also after an error. */
int sums_tree_make(const struct session *session, const struct export_options *options, struct sums_tree *ret,
		   struct error *err);
void sums_tree_deinit(struct sums_tree *t);

static inline uint64_t sums_tree_self(const struct sums_tree *t, uint32_t node)
{
	return t->by_ns ? t->tree.nodes[node].self_ns : t->tree.nodes[node].self_insns;
}

static inline uint64_t sums_tree_total(const struct sums_tree *t, uint32_t node)
{
	return t->by_ns ? t->tree.nodes[node].total_ns : t->tree.nodes[node].total_insns;
}

/* Is it whoever calls are told apart for, and no function? */
static inline bool sums_tree_is_whose(const struct sums_tree *t, uint32_t node)
{
	return t->whose && node && !t->tree.nodes[node].parent;
}

/* Append what a node is called: the function's name, "init (1)", or [unknown]. The guest's bytes. */
void sums_tree_name(const struct sums_tree *t, uint32_t node, struct buf *out);

/* All children of each node: list[first[n]] … list[first[n + 1] - 1], the largest total first. */
struct sums_children {
	uint32_t *first, *list;
};

void sums_children_make(const struct sums_tree *t, struct sums_children *ret);
void sums_children_deinit(struct sums_children *c);

#endif
