/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A guest that is not Linux, and was compiled with -finstrument-functions: its log comes over the serial line. */
#include "upto_instrument.h"

static volatile unsigned sum;
static struct upto_call calls[400];

static UPTO_NOT_INSTRUMENTED uint64_t ticks(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

static UPTO_NOT_INSTRUMENTED void put(char c)
{
	uint8_t status;

	do
		__asm__ volatile("inb %1, %0" : "=a"(status) : "Nd"((uint16_t)0x3fd));
	while (!(status & 0x20));
	__asm__ volatile("outb %0, %1" : : "a"(c), "Nd"((uint16_t)0x3f8));
}

#define APART __attribute__((noipa))

APART void leaf(void)
{
	sum++;
}

APART void branch(int n)
{
	for (int i = 0; i < n; i++)
		leaf();
}

APART int deep(int n)
{
	return n ? deep(n - 1) + 1 : 0;
}

APART void slow(void)
{
	uint64_t end = ticks() + 3000000;

	while (ticks() < end)
		sum++;
}

APART void never(void)
{
	for (;;)
		return;
}

APART void work(void)
{
	branch(5);
	deep(9);
	slow();
	branch(2);
}

static const struct upto_instrument all = { .calls = calls, .count = 400, .clock = ticks, .ticks_per_us = 1000 };
#ifndef HANGS
static const struct upto_instrument some = {
	.calls = calls, .count = 400, .clock = ticks, .ticks_per_us = 1000, .min_us = 1000,
	.start_entry = (uintptr_t)work, .stop_exit = (uintptr_t)work,
};
static const struct upto_instrument little = {
	.calls = calls, .count = 8 + UPTO_HEAD_CALLS, .clock = ticks, .ticks_per_us = 1000, .ring = 1,
};
#endif

#ifdef HANGS
/* One that never comes to its end: what it was at is in its memory. */
APART void waits(void)
{
	put('!');
	put('\n');
	for (;;)
		sum++;
}

UPTO_NOT_INSTRUMENTED void kernel_main(void)
{
	upto_instrument_begin(&all);
	never();
	work();
	waits();
}
#else
UPTO_NOT_INSTRUMENTED void kernel_main(void)
{
	static const struct upto_instrument *const ways[] = { &all, &some, &little };

	for (int i = 0; i < 3; i++) {
		upto_instrument_begin(ways[i]);
		never();
		work();
		never();
		upto_instrument_log(put);
		put('=');
		put('\n');
	}
}
#endif
