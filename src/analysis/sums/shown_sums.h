/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Adds up what functions do (functions.h) on the stacks that are shown (replay/fold.h): the time of calls that are not
 * is their callers'. What goes by events alone (function_sums.h) is faster, but does not know who called.
 */
#ifndef UPTO_ANALYSIS_SHOWN_SUMS_H
#define UPTO_ANALYSIS_SHOWN_SUMS_H

#include "functions.h"
#include "replay/stacks.h"

struct shown_sums {
	struct functions sums;         /* in ns */
	const struct event *left_by;   /* the event that left a frame last, by a jump, … */
	uint64_t left_insns, left_ns;  /* … when that was, … */
	uint32_t left;                 /* … and the frame's function */
};

void shown_sums_init(struct shown_sums *s, const struct session *session);
void shown_sums_deinit(struct shown_sums *s);
/* Add one part of the trace's sums to the others'. */
void shown_sums_add(struct functions *sum, const struct shown_sums *part);

/* As a visitor's. Threads that the session is not of are not counted. */
void shown_sums_enter(struct shown_sums *sums, const struct stacks *s, const struct stack *stack,
		      const struct frame *frame);
void shown_sums_leave(struct shown_sums *sums, const struct stacks *s, const struct frame *frame);
void shown_sums_spend(struct shown_sums *sums, const struct stacks *s, const struct stack *stack,
		      const struct spent *spent);
void shown_sums_phrase(struct shown_sums *sums, const struct stacks *s, const struct stack *stack,
		       const struct stacks_phrase *p);

/* As functions_analyse() (function_analysis.h), which leads here where the session has a fold. */
int shown_functions_analyse(const struct session *session, const struct span *span, struct functions *ret,
			    struct error *err);

#endif
