/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The frames of a stack, the innermost first, with the functions that were inlined and, if asked for, source lines. */
#ifndef UPTO_CLI_PRINT_FRAMES_H
#define UPTO_CLI_PRINT_FRAMES_H

#include "base/json.h"
#include "cli/args/debug_arg.h"
#include "replay/call_values.h"
#include "replay/stacks.h"

/* JSON's keys of a frame, for legends. */
#define FRAME_TERMS                                                                                                   \
	{ "function", "name" },                                                                                       \
	{ "kind", "call, interrupt, syscall or signal: what the function was entered by; tail: its caller ended in "  \
		  "a jump there, and has no address; inlined, with --debug" },                                        \
	{ "address", "where in the function it is: where what it called will return to; a string" },                 \
	{ "start_ns", "guest time when it was entered" },                                                             \
	{ "file, line", "with --debug: the source line of that place" }

/* Whose stack it is: before the first thread, and of what is no Linux, one that is called [boot]. */
const struct thread *frames_thread(const struct threads *threads, const struct stack *stack);

/* What is told of frames beside their functions. */
struct frame_sources {
	const struct source_lines *lines;
	const struct call_values *values; /* what they were given; NULL: nobody asks */
};

/* Lines that are set in; `ns` is the time of the moment. */
void frames_put(struct buf *out, const struct stacks *s, const struct frame_sources *of, const struct stack *stack,
		uint64_t ns);
/* Their array, "frames", into the object that is open; empty if `stack` is NULL. */
void frames_put_json(struct json *j, const struct stacks *s, const struct frame_sources *of, const struct stack *stack,
		     uint64_t ns);

/*
 * A copy of the stack of the thread that has that task_struct; where no thread ran, of the one that the vCPU runs: of a
 * copy, since its places may have to be forgotten, and replay goes on. `folded`: calls are. False: it has no frames.
 * The caller frees ret->frames.
 */
bool frames_copy(const struct stacks *s, uint64_t task, unsigned cpu, uint64_t ns, bool folded, struct stack *ret);

/*
 * Where calls are folded (replay/fold.h): control in a call that is not shown, or that was made by one, is at no place
 * of the function that is shown.
 */
void frames_forget_folded_places(const struct stacks *s, struct stack *stack, uint64_t ns);

#endif
