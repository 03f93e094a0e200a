/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UPTO_BASE_THREAD_H
#define UPTO_BASE_THREAD_H

/* Lower the priority of the calling thread alone. `nice` is as in nice(2). */
void thread_step_back(int nice);

#endif
