/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks as values of a program in handlers: each kept once, and known by its number. They are kept as they are
 * printed, so that they mean the same where another session goes on with a trace that grows.
 */
#ifndef UPTO_ANALYSIS_SCRIPT_STACKS_H
#define UPTO_ANALYSIS_SCRIPT_STACKS_H

#include "base/map.h"
#include "base/name_table.h"
#include "replay/stacks.h"

/* What a frame of the session is called. */
struct frame_name {
	uint64_t address;
	uint32_t function, version; /* of the address space that it is in; 0: the kernel's */
	bool returns;               /* control will return there */
	uint32_t name;              /* number + 1; 0: the entry is free */
};

struct script_stacks {
	const struct names *names; /* of the session … */
	const struct threads *threads;
	struct frame_name *known; /* … by hash */
	struct name_table texts;  /* "vfs_read+131" */
	uint32_t *frames;         /* numbers of texts */
	size_t n_frames, frames_cap;
	struct script_stack {
		size_t first, count;
	} * list;
	size_t count, cap;
	struct map by_hash; /* hash → number */
	uint64_t left_out;  /* so many had no room: they are stack 0, which is empty */
};

void script_stacks_init(struct script_stacks *s);
/* What comes is of that session. */
void script_stacks_begin(struct script_stacks *s, const struct session *session);
void script_stacks_deinit(struct script_stacks *s);

/*
 * Number of the stack's innermost frames, up to so many: those of the kernel's functions, or those of the program that
 * they were called from. As a stack in memory has them: a function that went on to another one by a jump is not there.
 */
uint64_t script_stacks_put(struct script_stacks *s, const struct stack *stack, uint64_t ns, bool user, uint64_t most);

/* As bpftrace prints it: a line for each frame, and one before. */
void script_stacks_text(const struct script_stacks *s, uint64_t number, unsigned indent, struct buf *out);

#endif
