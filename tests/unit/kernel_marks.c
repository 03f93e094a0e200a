/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints where the first task of a kernel's data keeps its name and its parent: "kernel_marks ADDRESS <DATA". */
#include <stdio.h>
#include <stdlib.h>

#include "guest/kernel_marks.h"

int main(int argc, char **argv)
{
	static char data[1 << 16];
	struct first_task_marks found;
	size_t len;

	if (argc != 2)
		return 2;
	len = fread(data, 1, sizeof data, stdin);
	if (!marks_first_task(data, len, strtoull(argv[1], NULL, 16), &found))
		return 1;
	printf("%u %u\n", found.comm, found.real_parent);
	return 0;
}
