/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints the functions that upto finds in this process's own memory of a library, which is loaded for that: "offset
 * name" lines.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "symbols/elf_loaded.h"

static bool read_own(void *state, uint64_t addr, void *data, size_t n)
{
	struct iovec to = { data, n }, from = { (void *)(uintptr_t)addr, n };

	(void)state;
	return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)n;
}

/* Where the file's first byte is mapped; 0: nowhere. */
static uint64_t base_of(const char *path)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	uint64_t start, offset, base = 0;
	char line[4352], name[4096];

	while (maps && !base && fgets(line, sizeof line, maps))
		if (sscanf(line, "%" SCNx64 "-%*x %*s %" SCNx64 " %*s %*s %4095[^\n]", &start, &offset, name) == 3 &&
		    !offset && !strcmp(name, path))
			base = start;
	if (maps)
		fclose(maps);
	return base;
}

int main(int argc, char **argv)
{
	char *path = argc == 2 ? realpath(argv[1], NULL) : NULL;
	void *library = path ? dlopen(path, RTLD_NOW) : NULL;
	struct symtab tab;
	uint64_t base;

	if (!library) {
		fprintf(stderr, "usage: loaded LIBRARY\n");
		return 1;
	}
	base = base_of(path);
	if (base && elf_loaded_symbols(base, read_own, NULL, &tab)) {
		for (size_t i = 0; i < tab.count; i++)
			printf("%" PRIx64 " %s\n", tab.symbols[i].addr, symtab_name(&tab, (long)i));
		symtab_deinit(&tab);
	}
	dlclose(library);
	free(path);
	return !base;
}
