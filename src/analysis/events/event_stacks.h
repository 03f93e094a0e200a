/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In which calls records of trace events were made: as texts, by which they are added up. */
#ifndef UPTO_ANALYSIS_EVENT_STACKS_H
#define UPTO_ANALYSIS_EVENT_STACKS_H

#include "base/map.h"
#include "base/name_table.h"
#include "replay/session.h"
#include "trace/facts.h"

struct event_stacks {
	struct map of;             /* a record's address → number of its stack + 1 */
	struct name_table texts;   /* of stacks, by number */
	struct name_table callers; /* names of functions … */
	uint32_t *caller;          /* … which is the second on the stack, by the stack's number */
	size_t cap;
};

/*
 * The moment whose stacks are those that a record was made in. A probe of a function's first instruction has the time
 * of its call, which then has happened.
 */
static inline uint64_t event_stack_moment(const struct fact *fact)
{
	return fact->ns + 1;
}

/* Of these facts, in the order of time. One pass through the trace. Call event_stacks_deinit() also after an error. */
int event_stacks_init(struct event_stacks *ret, const struct session *session, const struct fact *const *list, size_t n,
		      struct error *err);
void event_stacks_deinit(struct event_stacks *s);

/* "kmem_cache_alloc < getname_flags < do_sys_openat2 …", the innermost function first. NULL: the thread has none. */
const char *event_stack(const struct event_stacks *s, const struct fact *fact);
/* Who called the function in which the record was made. NULL: likewise, or nobody did. */
const char *event_caller(const struct event_stacks *s, const struct fact *fact);

#endif
