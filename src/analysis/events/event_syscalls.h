/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Trace events of system calls (syscalls:sys_enter_openat, raw_syscalls:sys_exit …): made of the calls that the trace
 * has, since no code of the guest's knows of them unless it has enabled them.
 */
#ifndef UPTO_ANALYSIS_EVENT_SYSCALLS_H
#define UPTO_ANALYSIS_EVENT_SYSCALLS_H

#include "event_list.h"

/*
 * Add such events, of which there are marks, to the facts, as computed ones, in the order of time; where the guest's
 * own record tells the same, that stays alone. What facts are found by (facts_find()) no longer holds. The memory of
 * what is added is *ret's, which the caller frees when the facts are no longer used.
 */
int event_syscalls_add(const struct reader *r, const struct threads *threads, const struct event_formats *formats,
		       const bool *marks, struct facts *facts, struct buf *ret, struct error *err);

#endif
