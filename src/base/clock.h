/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UPTO_BASE_CLOCK_H
#define UPTO_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Milliseconds since some moment before: only differences mean something. */
static inline uint64_t clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

#endif
