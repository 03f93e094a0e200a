/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UPTO_BASE_THREAD_H
#define UPTO_BASE_THREAD_H

/* Let the calling thread run behind others: `nice` as in nice(2), for this thread alone. */
void thread_step_back(int nice);

#endif
