// SPDX-License-Identifier: GPL-2.0-or-later
/* Runs since before a snapshot is made, and goes on: its functions have names all the same. */
#include <stdio.h>
#include <unistd.h>

__attribute__((noinline)) static int ticked(int n)
{
	__asm__ volatile("");
	return n + 1;
}

int main(void)
{
	for (int n = 0;; usleep(20000)) {
		n = ticked(n);
		printf("tick %d\n", n);
		fflush(stdout);
	}
}
