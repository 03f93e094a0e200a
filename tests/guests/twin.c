/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs that are told apart only by what is in them: one function, whose name has ten letters, called so many times.
 */
#include <stdio.h>

__attribute__((noinline)) int WORK(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

int main(void)
{
	int n = 0;

	for (int i = 0; i < TIMES; i++)
		n += WORK(i);
	return printf("%d\n", n) < 0;
}
