/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints what each function of a program whose name begins with PREFIX is told to take: its name, and of each parameter
 * the name, the letter and the bytes of its kind, and where it is.
 */
#include <stdio.h>
#include <string.h>

#include "probes/program_prototype.h"

struct asked {
	const struct dwarf_file *file;
	const char *prefix;
};

static void print_place(const struct prototype *p, unsigned i)
{
	static const char *const registers[] = { "rdi", "rsi", "rdx", "rcx", "r8", "r9" };
	int reg = prototype_register(p, i), vector = prototype_vector(p, i), word = prototype_stack(p, i);

	if (reg >= 0)
		printf("%s", registers[reg]);
	else if (vector >= 0)
		printf("xmm%d", vector);
	else if (word >= 0)
		printf("stack%d", word);
	else
		printf("nowhere");
}

static bool print(void *context, const char *name, uint64_t addr)
{
	const struct asked *asked = context;
	struct prototype p;

	if (strncmp(name, asked->prefix, strlen(asked->prefix)))
		return true;
	program_prototype_find(asked->file, addr, name, &p);
	printf("%s", name);
	for (unsigned i = 0; i < p.count; i++) {
		printf(" %s:%c%u:", p.parameters[i].name, (char)p.parameters[i].kind, p.parameters[i].bytes);
		print_place(&p, i);
	}
	puts("");
	prototype_deinit(&p);
	return true;
}

int main(int argc, char **argv)
{
	struct dwarf_file *file;
	struct error err;

	if (argc != 3 || dwarf_file_open(argv[1], &file, &err) < 0) {
		fprintf(stderr, "%s\n", argc == 3 ? err.text : "usage: program_prototypes FILE PREFIX");
		return 1;
	}
	dwarf_file_each_symbol(file, print, &(struct asked){ file, argv[2] });
	dwarf_file_close(file);
	return 0;
}
