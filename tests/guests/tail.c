/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A function that is called by a conditional jump, as LLVM makes calls in tail position; prints how often it was. */
#include <stdio.h>

static volatile long sink, calls;

__attribute__((noinline, aligned(16))) long called(long x)
{
	calls++;
	sink += x;
	return x * 3;
}

__attribute__((noinline)) long chooses(long x)
{
	if (x % 3)
		return called(x);
	sink--;
	return x;
}

int main(void)
{
	for (long i = 0; i < 3000; i++)
		sink += chooses(i);
	printf("called %ld times\n", calls);
	return 0;
}
