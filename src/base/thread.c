/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "thread.h"

#include <sys/resource.h>
#include <unistd.h>

void thread_step_back(int nice)
{
	/* Linux takes a thread's number here, for its threads have each their own: sched(7). Failing does no harm. */
	setpriority(PRIO_PROCESS, (id_t)gettid(), nice);
}
