/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What tells of system calls: from the recorder's own events, or from the kernel's records of them. */
#ifndef UPTO_ANALYSIS_SYSCALL_MARKS_H
#define UPTO_ANALYSIS_SYSCALL_MARKS_H

#include "base/alloc.h"
#include "syscall_list.h"
#include "trace/event_formats.h"

#define SYSCALL_ANY UINT32_MAX

struct syscall_mark {
	/* GAP: events are missing before that time; so what was under way need not be any more */
	enum { SYSCALL_MARK_ENTRY, SYSCALL_MARK_EXIT, SYSCALL_MARK_SWITCH, SYSCALL_MARK_GAP } type;
	/*
	 * EXIT: only ns, task, result, cpu and `nr` are set, and `from` is the address that it leads to; SYSCALL_ANY:
	 * which call it is of is not told. SWITCH: `task` runs from then on, and `from` ran before.
	 */
	struct syscall_record call;
};

struct syscall_marks {
	struct syscall_mark *list;
	size_t count, cap;
};

static inline struct syscall_mark *syscall_marks_add(struct syscall_marks *m)
{
	m->list = array_grow(m->list, m->count, &m->cap, sizeof *m->list);
	return &m->list[m->count++];
}

/*
 * What records of raw_syscalls:sys_enter and sys_exit tell, where the trace has no such events of its own (it was
 * imported), or, where there are none of these, records of syscalls:sys_enter_… and sys_exit_….
 */
struct syscall_events;

/* NULL: the trace's own events tell of system calls, or nothing does. `formats` must outlive it. */
struct syscall_events *syscall_events_new(const struct reader *r, const struct event_formats *formats);
void syscall_events_free(struct syscall_events *e);

/* Does the fact tell of one? */
bool syscall_events_tell(const struct syscall_events *e, const struct fact *fact, struct syscall_mark *ret);

/* Add all of a trace. */
int syscall_events_mark(const struct reader *r, struct syscall_marks *to, struct error *err);

#endif
