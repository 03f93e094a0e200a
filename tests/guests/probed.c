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

/*
 * A static probe as systemtap's sys/sdt.h makes it: a note with where it is, its name, and where an assembler has two
 * values.
 */
#define MARK(name, a, b)                                                                                           \
	asm volatile("990: nop\n\t.pushsection .note.stapsdt,\"\",\"note\"\n\t.balign 4\n\t"                          \
		     ".4byte 992f-991f, 994f-993f, 3\n991: .asciz \"stapsdt\"\n992: .balign 4\n993: .8byte 990b\n\t"    \
		     ".8byte _.stapsdt.base\n\t.8byte 0\n\t.asciz \"probed\"\n\t.asciz \"" #name "\"\n\t"               \
		     ".asciz \"-8@%0 -4@%1\"\n994: .balign 4\n\t.popsection\n\t"                                       \
		     ".ifndef _.stapsdt.base\n\t"                                                                       \
		     ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n\t.weak _.stapsdt.base\n\t" \
		     ".hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n\t.size _.stapsdt.base, 1\n\t.popsection\n\t"  \
		     ".endif"                                                                                            \
		     : : "nor"(a), "nor"(b))

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
	MARK(weighed, sum, deep);
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
		MARK(waited, (long)i, 5);
	}
	return 0;
}
