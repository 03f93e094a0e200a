/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source lines and inlined functions, out of an ELF file with DWARF: a program,
 * a library, vmlinux or a module, or a file of one's debug information. If it
 * has none itself, its debug file is looked for by build-id where elfutils look.
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
 * Where the function of that name begins, in the file's own addresses; a module's
 * are made up, but its sections are whole. C++ and Rust names are as in the source.
 * False: there is none, or several have the name.
 */
bool source_function(const struct source *s, const char *name, uint64_t *ret_addr);

/* How many functions it has, those that share a name counted once, without what only assembler names. */
size_t source_functions(const struct source *s);

/* A function that holds an address: first those that were inlined there, then the one that they are part of. */
struct source_line {
	const char *function; /* NULL: without a name. All last until the source is closed */
	const char *file;     /* NULL: not known; below the folder that it was compiled in, if it was there */
	int line;
	bool inlined;
};

enum { SOURCE_LINES_MAX = 64 };

/* How many of `ret` were filled in; 0: nothing is known of that address. */
size_t source_at(const struct source *s, uint64_t addr, struct source_line ret[SOURCE_LINES_MAX]);

#endif
