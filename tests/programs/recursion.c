// SPDX-License-Identifier: GPL-2.0-or-later
/* Nothing but calls: says how long one takes, in ns. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long calls;

__attribute__((noinline)) static int fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

/* As many as fib() makes. */
static long calls_of(int n)
{
	long before = 1, now = 1;

	for (int i = 2; i <= n; i++) {
		long next = now + before + 1;

		before = now;
		now = next;
	}
	return now;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 32;
	struct timespec begin, end;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	calls = fib(n);
	clock_gettime(CLOCK_MONOTONIC, &end);
	calls = calls_of(n);
	printf("%ld %.2f\n", calls, ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / (double)calls);
	return 0;
}
