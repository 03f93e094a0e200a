/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints the functions of a kernel as upto sees them, an image and files with its symbols: "address section name"
 * lines. With --ends before them: where each ends.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "guest/kernel_sources.h"
#include "symbols/symtab.h"

int main(int argc, char **argv)
{
	bool ends = argc > 1 && !strcmp(argv[1], "--ends");
	int image = 1 + ends;
	struct kernel_sources sources = { .image = argc > image ? argv[image] : NULL, .types = KERNEL_LEARN };
	struct known_kernel kernel;
	struct symtab tab;
	struct error err;

	for (int i = image + 1; i < argc && i - image <= KERNEL_FILES_MAX; i++)
		sources.symbols[sources.n_symbols++].path = argv[i];
	if (argc <= image || kernel_sources_read(&sources, &kernel, &err) < 0) {
		fprintf(stderr, "%s\n", argc > image ? err.text : "usage: symbols [--ends] IMAGE [FILE…]");
		return 1;
	}
	symtab_from_image(&tab, &kernel.image);
	for (size_t i = 0; i < tab.count && ends; i++)
		printf("%" PRIx64 "\n", tab.symbols[i].end);
	for (size_t i = 0; i < tab.count && !ends; i++)
		printf("%" PRIx64 " %s %s\n", tab.symbols[i].addr, symtab_section_name(&tab, (long)i),
		       symtab_name(&tab, (long)i));
	symtab_deinit(&tab);
	known_kernel_deinit(&kernel);
	return 0;
}
