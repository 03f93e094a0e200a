/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UPTO_BASE_CLOCK_H
#define UPTO_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_read_ms(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Milliseconds since an unknown moment: only differences mean something. */
static inline uint64_t clock_ms(void)
{
	return clock_read_ms(CLOCK_MONOTONIC);
}

/* Milliseconds that the calling thread has run. */
static inline uint64_t clock_thread_ms(void)
{
	return clock_read_ms(CLOCK_THREAD_CPUTIME_ID);
}

#endif
