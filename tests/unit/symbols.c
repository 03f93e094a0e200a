/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints the functions of a kernel as upto sees them, an image and files with its symbols: "address section name"
 * lines.
 */
#include <inttypes.h>
#include <stdio.h>

#include "guest/kernel_sources.h"
#include "symbols/symtab.h"

int main(int argc, char **argv)
{
	struct kernel_sources sources = { .image = argc > 1 ? argv[1] : NULL, .types = KERNEL_LEARN };
	struct known_kernel kernel;
	struct symtab tab;
	struct error err;

	for (int i = 2; i < argc && i - 2 < KERNEL_FILES_MAX; i++)
		sources.symbols[sources.n_symbols++].path = argv[i];
	if (argc < 2 || kernel_sources_read(&sources, &kernel, &err) < 0) {
		fprintf(stderr, "%s\n", argc > 1 ? err.text : "usage: symbols IMAGE [FILE…]");
		return 1;
	}
	symtab_from_image(&tab, &kernel.image);
	for (size_t i = 0; i < tab.count; i++)
		printf("%" PRIx64 " %s %s\n", tab.symbols[i].addr, symtab_section_name(&tab, (long)i),
		       symtab_name(&tab, (long)i));
	symtab_deinit(&tab);
	known_kernel_deinit(&kernel);
	return 0;
}
