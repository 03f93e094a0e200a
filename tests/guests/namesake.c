/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Has a function of the same name as one of the kernel's, which only runs later. */
#include <stdio.h>

__attribute__((noinline)) int kernel_power_off(int n)
{
	return printf("%d\n", n);
}

int main(void)
{
	return kernel_power_off(1) < 0;
}
