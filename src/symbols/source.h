/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source lines and inlined functions, read from an ELF file with DWARF: a program,
 * a library, vmlinux or a module, or the debug file of one of these. If the file
 * has no DWARF, its debug file is looked for by build-id, where elfutils look.
 */
#ifndef UPTO_SYMBOLS_SOURCE_H
#define UPTO_SYMBOLS_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct source;

/* The caller owns *ret. */
int source_open(const char *path, struct source **ret, struct error *err);
void source_close(struct source *s);

/*
 * The address, in the file, of the function with that name. A module's sections are
 * not linked yet: they get made-up addresses, one section after the other. C++ and
 * Rust names are as in the source. Returns false if no function or several have the name.
 */
bool source_function(const struct source *s, const char *name, uint64_t *ret_addr);

/* The number of the section of a module's file that an address is in; of files that are linked all are one. */
int source_section(const struct source *s, uint64_t addr);

/*
 * How many functions the file has. Names of the same address count once; functions in assembler without a type, and
 * the padding before a kernel's functions, do not count.
 */
size_t source_functions(const struct source *s);

/*
 * A function that holds an address. The functions inlined there come first, the innermost one before the others; the
 * function that they are part of comes last.
 */
struct source_line {
	const char *function; /* NULL: without a name. Both strings are valid until the source is closed */
	const char *file;     /* relative to the folder of the compilation, if it is below that; NULL: not known */
	int line;
	bool inlined;
};

enum { SOURCE_LINES_MAX = 64 };

/* Returns how many entries of `ret` were filled in; 0: nothing is known about the address. */
size_t source_at(const struct source *s, uint64_t addr, struct source_line ret[SOURCE_LINES_MAX]);

#endif
