/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vCPUs that run on in the kernel and take no interrupt any more: hard lockups, as Documentation/admin-guide/
 * lockup-watchdogs.rst calls them. The kernel's own detector of these needs a PMU's NMI or another CPU.
 */
#ifndef UPTO_ANALYSIS_LOCKUPS_H
#define UPTO_ANALYSIS_LOCKUPS_H

#include "replay/session.h"

struct lockup {
	unsigned cpu;
	uint64_t since_ns; /* the last time that one was taken, or that one may have been and was not seen */
	uint64_t task;     /* task_struct that runs there */
	uint64_t place;    /* address in the kernel where control went last */
};

struct lockups {
	struct lockup *list; /* by vCPU */
	size_t count;
};

/*
 * Those that last for a second or more where the trace ends, at end_ns. None where nothing tells: there are no
 * threads, or the trace is a part of another one. Call lockups_deinit() also after an error.
 */
int lockups_find(const struct session *s, uint64_t end_ns, struct lockups *ret, struct error *err);
void lockups_deinit(struct lockups *l);

#endif
