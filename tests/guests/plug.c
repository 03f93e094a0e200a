/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A library that tests/guests/story.c opens. */
/* no data: its code also runs where nothing else of the library is */
static __attribute__((noipa)) void within(void)
{
	volatile unsigned sum = 0;

	sum++;
}

__attribute__((noipa)) void plug(void)
{
	within();
	within();
}
