/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program whose functions say what they are given and give back, as probes of it are to find. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct item {
	const char *name;
	unsigned weight : 5, kind : 3;
	struct item *next;
};

static inline __attribute__((always_inline)) long twice(long n)
{
	long product = n * 2;

	return product + getppid() * 0;
}

__attribute__((noinline)) long weigh(const struct item *item, int deep)
{
	long sum = item->weight;

	if (item->next)
		sum += weigh(item->next, deep + 1);
	return twice(sum);
}

__attribute__((noinline)) int count(int argc, char **argv)
{
	struct item last = { "last", 7, 3, NULL }, first = { argv[0], (unsigned)argc, 5, &last };

	printf("told count(%d, \"%s\") = %ld\n", argc, argv[0], weigh(&first, 0));
	return argc;
}

int main(int argc, char **argv)
{
	for (int i = 1; i <= 3; i++) {
		if (fork() == 0) /* each by itself, at the same addresses */
			exit(count(argc + i, argv + i));
		wait(NULL);
	}
	return 0;
}
