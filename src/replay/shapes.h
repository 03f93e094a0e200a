/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A shape is what a phrase (trace/phrases.h) does to a stack: which frames it leaves,
 * and when they were entered. It is recorded while the phrase is replayed once. A
 * phrase has a shape only if it leaves the stack as it was before the call, and if
 * every return matched a frame.
 */
#ifndef UPTO_REPLAY_SHAPES_H
#define UPTO_REPLAY_SHAPES_H

#include "base/alloc.h"
#include "stacks.h"
#include "trace/phrases.h"

enum {
	SHAPE_FRAMES = 16, /* phrases that leave more have no shape */
	SHAPE_FUNCTION_BITS = 28,
};

struct shape_frame {
	uint32_t function : SHAPE_FUNCTION_BITS;
	uint32_t own : 1;       /* it is the frame of the call, which was entered before the phrase */
	uint32_t at_start : 1;
	uint32_t tail : 1;      /* it is a FRAME_TAIL */
	uint32_t outermost : 1; /* it is the only frame of its function, from the call's frame on */
	uint16_t entered, left; /* instructions since the call */
};

/* The shape of a phrase behind calls from one place to one function. */
struct shape {
	uint32_t serial;        /* of the phrase; 0: no shape */
	uint32_t version;       /* version of the address space, if names depend on it; else 0 */
	uint64_t from;          /* where the call returns to */
	uint32_t callee;
	uint16_t returns;
	uint16_t count;
	struct shape_frame frames[SHAPE_FRAMES];
	uint16_t folded;        /* bits by frame: it is not shown (fold.h) … */
	uint16_t costs;         /* … and its time is added up, with what it called … */
	bool odd;               /* … one of these was jumped to by the call: its caller is not in the phrase */
	bool judged;            /* … as was found out when it was asked for */
} __attribute__((aligned(CACHE_LINE)));
static_assert(offsetof(struct shape, frames[5]) == CACHE_LINE, "short ones are in one cache line");

/* Where a phrase leaves the thunk that its call led to. */
struct thunk_exit {
	uint32_t serial, version; /* as a shape's */
	uint64_t from;
	uint64_t target;          /* the function that the thunk leads to */
	uint16_t insns;           /* since the call */
	uint16_t events, returns; /* up to there */
};

/*
 * The frame that called frame `i`, by its number: a frame is behind those that were called in it, and all of them were
 * entered later. shape->count: it was not entered in the phrase.
 */
static inline unsigned shape_caller(const struct shape *shape, unsigned i)
{
	unsigned caller = i + 1;

	while (caller < shape->count && shape->frames[caller].entered > shape->frames[i].entered)
		caller++;
	return caller;
}

/* The shapes for one vCPU's phrases, and the one that is being recorded. */
struct shapes {
	struct shape shapes[PHRASES];
	struct thunk_exit exits[PHRASES];
	struct shape *recorded;
	size_t depth;           /* of the stack with the call on it */
	size_t thunk_calls;     /* of the stack */
	uint64_t insns;         /* the thread's own clock at the call */
	struct unmatched before;
	bool own_left, odd;
};

/* The key of a shape: a phrase behind a call that is on top of a stack. */
struct shape_key {
	unsigned place;         /* the phrase's */
	uint32_t serial, version;
	uint64_t from;
};

/* Find a shape. Returns NULL if it is not known. */
struct shape *shapes_find(struct shapes *s, const struct stack *stack, const struct shape_key *key);

/* Where the phrase leaves the thunk that was called. Returns NULL if that is not known. */
const struct thunk_exit *shapes_exit(const struct shapes *s, const struct shape_key *key);
/* Keep that. The caller must not if an address up to there may belong to another function later. */
void shapes_keep_exit(struct shapes *s, const struct shape_key *key, const struct thunk_exit *exit);

/* Begin to record what happens to the stack up to shapes_end(). */
void shapes_begin(struct shapes *s, const struct stacks *stacks, const struct stack *stack,
		  const struct shape_key *key);
/* The top frame is left. */
void shapes_leave(struct shapes *s, const struct stack *stack);
/*
 * Keep what was recorded as a shape, unless it cannot be one. The caller must not end a shape here if an address in it
 * may belong to another function later.
 */
void shapes_end(struct shapes *s, const struct stacks *stacks, const struct stack *stack, const struct shape_key *key);

#endif
