/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions and variables of all kinds, as definitions of probes name them. With a function start_kernel() it is taken
 * for a kernel; with -Dstart_kernel=begin for a program.
 */
struct inner {
	int low : 3;
	unsigned high : 4;
};

struct item {
	const char *name;
	struct item *next;
	struct inner in;
	int grid[3][4];
	unsigned char bytes[6];
	char names[2][8];
};

volatile long sink;
long other(long n);

static inline __attribute__((always_inline)) long twice(long n)
{
	long product = n * 2;

	sink = product;
	return product;
}

__attribute__((noinline)) struct item *step(struct item *item)
{
	sink = item->in.low;
	return item->next;
}

__attribute__((noinline)) long weigh(const struct item *item, long deep, int retval)
{
	const int limit = 200, below = -7;

	sink = item->in.low + limit + below;
	sink = deep;
	sink = retval;
	return twice(sink);
}

__attribute__((noinline)) long many(long a, long b, long c, long d, long e, long f, long g)
{
	sink = a + b + c + d + e + f + g;
	return sink;
}

static __attribute__((noinline)) void helper(long n)
{
	sink = n + 1;
}

int start_kernel(void)
{
	struct item item = { 0 };

	helper(other(sink));
	sink = step(&item) != 0;
	return weigh(&item, 3, 4) + many(1, 2, 3, 4, 5, 6, 7);
}
