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

/* As a C++ compiler would name plug::shaped(); each time that the library is opened. */
__attribute__((noipa, constructor)) void shaped(void) __asm__("_ZN4plug6shapedEv");
void shaped(void)
{
	within();
}
