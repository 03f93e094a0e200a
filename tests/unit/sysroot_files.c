/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints the files that a root has: of each its path and how many bytes of it were read. */
#include <stdio.h>

#include "guest/sysroot.h"

static bool wants(void *state, const struct guest_file *file)
{
	(void)state, (void)file;
	return true;
}

static void take(void *state, const struct guest_file *file, const struct buf *data)
{
	(void)state;
	printf("%s %zu\n", file->path, data->len);
}

int main(int argc, char **argv)
{
	struct error err;

	if (argc == 2 && sysroot_walk(argv[1], &(struct sysroot_visitor){ .wants = wants, .take = take }, &err) >= 0)
		return 0;
	fprintf(stderr, "%s\n", argc == 2 ? err.text : "usage: sysroot_files ROOT");
	return 1;
}
