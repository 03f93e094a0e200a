/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints what a file's debug information says of the addresses on stdin, as the file has them: a line a function, and
 * a dot. FUNCTION is at ADDRESS there, since a library or program is laid out elsewhere.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "symbols/source.h"

static void print(const struct source *s, uint64_t addr)
{
	struct source_line lines[SOURCE_LINES_MAX];
	size_t n = source_at(s, addr, lines);

	for (size_t i = 0; i < n; i++)
		printf("%s %s:%d\n", lines[i].function ? lines[i].function : "?", lines[i].file ? lines[i].file : "?",
		       lines[i].line);
	puts(".");
}

int main(int argc, char **argv)
{
	struct source *s;
	struct error err;
	uint64_t known, addr;

	if (argc != 4 || source_open(argv[1], &s, &err) < 0) {
		fprintf(stderr, "%s\n", argc == 4 ? err.text : "usage: source_lines FILE FUNCTION ADDRESS");
		return 1;
	}
	if (!source_function(s, argv[2], &known))
		return 1;
	while (scanf("%" SCNx64, &addr) == 1)
		print(s, addr + known - strtoull(argv[3], NULL, 16));
	source_close(s);
	return 0;
}
