/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "thread.h"

#include <sys/resource.h>
#include <unistd.h>

void thread_step_back(int nice)
{
	/*
	 * On Linux each thread has its own nice value, and this call takes a thread's number: sched(7). A failure does
	 * no harm.
	 */
	setpriority(PRIO_PROCESS, (id_t)gettid(), nice);
}
