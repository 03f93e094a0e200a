/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The calls of a thread that have not returned, told from its events alone: without names, and so without what
 * replay/stacks.h knows of thunks, tail calls and programs' ends. What reads the trace makes frames of them.
 */
#ifndef UPTO_RECORDER_UNDER_WAY_H
#define UPTO_RECORDER_UNDER_WAY_H

#include <stddef.h>

#include "trace/event.h"
#include "trace/stack_records.h"

struct way_call {
	struct stack_call call;
	uint64_t last, last_ns;   /* where a jump from it, or from where that led, led to last, and when; 0: none did */
};

struct under_way {
	struct way_call *calls;   /* the outermost first; of very many, those that were made last */
	size_t count, cap;
	uint64_t place;           /* where control is; 0: not known */
	/* where it got to last by something else than a call, with none under way, and when; 0: not known */
	uint64_t base, base_ns;
};

/* The thread's next event, with its time. */
void under_way_event(struct under_way *w, const struct event *e);

/* Append the record, with all calls. */
void under_way_put(const struct under_way *w, const struct stack_record *record, struct buf *out);

/* Nothing of it is known. */
void under_way_forget(struct under_way *w);
void under_way_deinit(struct under_way *w);

#endif
