/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree_phrases.h"

#include "replay/shapes.h"

enum { LANDINGS = 1 << 15, ROOT = 0 };

/* Where a shape's frames are in the tree, when the call is in that node. */
struct landing {
	const struct shape *shape; /* and what tells it from others that were in its place; NULL: it is empty */
	uint64_t from;
	uint32_t serial, version;
	uint32_t node, outer;
	uint16_t tails; /* bits by frame: it is a tail call */
	uint32_t nodes[SHAPE_FRAMES];
	uint32_t callers[SHAPE_FRAMES]; /* whose self time it is not; ROOT: it is of no other that is added */
};

struct landings {
	struct landing list[LANDINGS];
};

struct landings *landings_new(void)
{
	return xcalloc(1, sizeof(struct landings));
}

void landings_free(struct landings *l)
{
	free(l);
}

static inline bool is_folded(const struct stacks_phrase *p, unsigned i)
{
	return p->folded >> i & 1;
}

/* The frame that is shown as the caller. shape->count: it is not in the phrase. */
static unsigned shown_caller(const struct stacks_phrase *p, unsigned i)
{
	unsigned caller = shape_caller(p->shape, i);

	while (caller < p->shape->count && is_folded(p, caller))
		caller = shape_caller(p->shape, caller);
	return caller;
}

/* A function that was jumped to by one which is not shown was called by whoever called that. */
static bool is_tail(const struct stacks_phrase *p, unsigned i)
{
	const struct shape *shape = p->shape;
	unsigned caller = shape_caller(shape, i);

	while (shape->frames[i].tail && caller < shape->count && is_folded(p, caller)) {
		i = caller;
		caller = shape_caller(shape, i);
	}
	return shape->frames[i].tail;
}

/* Numbers of the shape's frames in the order in which they were entered: so nodes get theirs as in a replay. */
static void by_entry(const struct shape *shape, uint8_t *order)
{
	for (unsigned i = 0; i < shape->count; i++) {
		unsigned at = i;

		/* of two that were entered at once, the one behind called the other */
		for (; at > 0 && shape->frames[order[at - 1]].entered >= shape->frames[i].entered; at--)
			order[at] = order[at - 1];
		order[at] = (uint8_t)i;
	}
}

static void land(struct call_tree *t, const struct names *names, const struct stacks_phrase *p, struct landing *l)
{
	const struct shape *shape = p->shape;
	uint8_t order[SHAPE_FRAMES];

	l->tails = 0;
	by_entry(shape, order);
	for (unsigned k = 0; k < shape->count; k++) {
		unsigned i = order[k], caller;

		if (is_folded(p, i))
			continue;
		caller = shape->frames[i].own ? shape->count : shown_caller(p, i);
		l->callers[i] = caller < shape->count ? l->nodes[caller] : ROOT;
		l->nodes[i] = shape->frames[i].own
				      ? l->node
				      : call_tree_child(t, names, caller < shape->count ? l->nodes[caller] : l->outer,
							shape->frames[i].function);
		l->tails |= (uint16_t)(is_tail(p, i) << i);
	}
}

static inline bool is_of(const struct landing *l, const struct shape *shape, uint32_t node, uint32_t outer)
{
	return l->shape == shape && l->node == node && l->outer == outer && l->serial == shape->serial &&
	       l->from == shape->from && l->version == shape->version;
}

static struct landing *find(struct call_tree *t, struct landings *all, const struct names *names, uint32_t node,
			    uint32_t outer, const struct stacks_phrase *p)
{
	const struct shape *shape = p->shape;
	struct landing *l = &all->list[hash64((uintptr_t)shape ^ (uint64_t)node << 40) >> 16 & (LANDINGS - 1)];

	if (__builtin_expect(is_of(l, shape, node, outer), 1))
		return l;
	*l = (struct landing){
		.shape = shape,
		.from = shape->from,
		.serial = shape->serial,
		.version = shape->version,
		.node = node,
		.outer = outer,
	};
	land(t, names, p, l);
	return l;
}

void tree_add_phrase(struct call_tree *t, struct landings *all, const struct names *names, uint32_t node,
		     uint32_t outer, const struct stacks_phrase *p)
{
	const struct landing *l = find(t, all, names, node, outer, p);

	for (unsigned i = 0; i < p->shape->count; i++) {
		const struct shape_frame *f = &p->shape->frames[i];
		struct call_node *n = &t->nodes[l->nodes[i]], *caller = &t->nodes[l->callers[i]];
		uint64_t insns = (uint64_t)f->left - f->entered, ns;

		if (is_folded(p, i))
			continue;
		ns = timebase_ns(p->timebase, p->insns + f->left) - timebase_ns(p->timebase, p->insns + f->entered);
		n->self_insns += insns;
		n->self_ns += ns;
		n->calls += f->at_start & !f->own;
		n->tail_calls += f->at_start & !f->own & (l->tails >> i & 1);
		if (l->callers[i] == ROOT)
			continue;
		caller->self_insns -= insns;
		caller->self_ns -= ns;
	}
}
