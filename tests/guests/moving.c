/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest that is not Linux, and moves itself, as boot loaders do: what it has done where it was loaded, it does again
 * in a copy. It is linked for one place; its calls are relative, and its data stays where it is.
 */
#define APART __attribute__((noipa))

enum { PLACE = 0x300000, ROUNDS = 30 };

volatile unsigned sum;

APART void leaf(unsigned n)
{
	sum += n;
}

APART void inner(unsigned n)
{
	leaf(n);
	leaf(n + 1);
}

APART void work(void)
{
	for (unsigned i = 0; i < ROUNDS; i++)
		inner(i);
}

APART void last(void)
{
	sum++;
}

extern char _start[], _etext[];

void kernel_main(void)
{
	char *copy = (char *)PLACE;

	work();
	for (char *from = _start; from < _etext; from++)
		copy[from - _start] = *from;
	((void (*)(void))(copy + ((char *)work - _start)))();
	((void (*)(void))(copy + ((char *)last - _start)))();
}
