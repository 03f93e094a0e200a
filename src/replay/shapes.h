/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What phrases (trace/phrases.h) do to a stack: which frames are left, each with
 * when it was entered. It is what replaying such a phrase once did, if it left
 * the stack as it was before the call, and matched every return.
 */
#ifndef UPTO_REPLAY_SHAPES_H
#define UPTO_REPLAY_SHAPES_H

#include "base/alloc.h"
#include "stacks.h"
#include "trace/phrases.h"

enum {
	SHAPE_FRAMES = 16, /* phrases that leave more have no shape */
	SHAPE_FUNCTION_BITS = 29,
};

struct shape_frame {
	uint32_t function : SHAPE_FUNCTION_BITS;
	uint32_t own : 1;       /* it is the call's: entered before the phrase */
	uint32_t at_start : 1;
	uint32_t outermost : 1; /* of its function, as far as the call's */
	uint16_t entered, left; /* instructions since the call */
};

/* Of a phrase behind calls from one place to one function. */
struct shape {
	uint32_t serial;        /* of the phrase; 0: there is none */
	uint32_t version;       /* of the address space, where that matters to names; else 0 */
	uint64_t from;          /* where the call returns to */
	uint32_t callee;
	uint16_t returns;
	uint16_t count;
	struct shape_frame frames[SHAPE_FRAMES];
} __attribute__((aligned(CACHE_LINE)));
static_assert(offsetof(struct shape, frames[5]) == CACHE_LINE, "short ones are in one cache line");

/* Those of one vCPU's replay, and one that is being recorded. */
struct shapes {
	struct shape shapes[PHRASES];
	struct shape *recorded;
	size_t depth;           /* of the stack with the call on it */
	uint64_t insns;         /* the thread's own clock at the call */
	struct unmatched before;
	bool own_left, odd;
};

/* A phrase behind a call that is on top of a stack. */
struct shape_key {
	unsigned place;         /* the phrase's */
	uint32_t serial, version;
	uint64_t from;
};

/* NULL: not known. */
const struct shape *shapes_find(const struct shapes *s, const struct stack *stack, const struct shape_key *key);

/* Record what is done up to shapes_end(). */
void shapes_begin(struct shapes *s, const struct stacks *stacks, const struct stack *stack, const struct shape_key *key);
/* The top frame is left. */
void shapes_leave(struct shapes *s, const struct stack *stack);
/* Keep what was recorded, unless it was odd. Names that may be others' later are the caller's to see to. */
void shapes_end(struct shapes *s, const struct stacks *stacks, const struct stack *stack, const struct shape_key *key);

#endif
