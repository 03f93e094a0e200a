/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UPTO_BASE_CLOCK_H
#define UPTO_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_read_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Since an unknown moment: only differences mean something. */
static inline uint64_t clock_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC);
}

static inline uint64_t clock_ms(void)
{
	return clock_ns() / 1000000;
}

/* Milliseconds that the calling thread has run. */
static inline uint64_t clock_thread_ms(void)
{
	return clock_read_ns(CLOCK_THREAD_CPUTIME_ID) / 1000000;
}

#endif
