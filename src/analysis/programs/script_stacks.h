/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks as values of a program in handlers: each kept once, and known by its number. */
#ifndef UPTO_ANALYSIS_SCRIPT_STACKS_H
#define UPTO_ANALYSIS_SCRIPT_STACKS_H

#include "base/map.h"
#include "replay/stacks.h"

struct script_stacks {
	const struct names *names;
	const struct threads *threads;
	struct script_frame {
		uint64_t address; /* where control is, or will return to */
		uint32_t function;
		uint32_t version; /* of the address space that it is in; 0: the kernel's */
	} * frames;
	size_t n_frames, frames_cap;
	struct script_stack {
		size_t first, count;
		uint64_t ns;
	} * list; /* ns: when it was seen first */
	size_t count, cap;
	struct map by_hash; /* hash → number + 1 */
	uint64_t left_out;  /* so many had no room: they are stack 0, which is empty */
};

void script_stacks_init(struct script_stacks *s, const struct session *session);
void script_stacks_deinit(struct script_stacks *s);

/*
 * Number of the stack's innermost frames, up to so many: those of the kernel's functions, or those of the program that
 * they were called from. As a stack in memory has them: a function that went on to another one by a jump is not there.
 */
uint64_t script_stacks_put(struct script_stacks *s, const struct stack *stack, uint64_t ns, bool user, uint64_t most);

/* As bpftrace prints it: a line for each frame, and one before. */
void script_stacks_text(const struct script_stacks *s, uint64_t number, unsigned indent, struct buf *out);

#endif
