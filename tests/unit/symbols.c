/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints the functions of a kernel image as upto sees them: "address section name" lines. */
#include <inttypes.h>
#include <stdio.h>

#include "symbols/symtab.h"

int main(int argc, char **argv)
{
	struct kernel_image image;
	struct symtab tab;
	struct error err;

	if (argc != 2 || kernel_image_load(argv[1], &image, &err) < 0) {
		fprintf(stderr, "%s\n", argc == 2 ? err.text : "usage: symbols IMAGE");
		return 1;
	}
	symtab_from_image(&tab, &image);
	for (size_t i = 0; i < tab.count; i++)
		printf("%" PRIx64 " %s %s\n", tab.symbols[i].addr, symtab_section_name(&tab, (long)i),
		       symtab_name(&tab, (long)i));
	symtab_deinit(&tab);
	kernel_image_deinit(&image);
	return 0;
}
