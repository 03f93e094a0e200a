/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions of modules that are loaded, at run-time addresses. They come and
 * go while vCPUs look them up without a lock: a list that was published never
 * changes, and is freed when another one stands in its place and nobody reads.
 */
#ifndef UPTO_RECORDER_MODULES_H
#define UPTO_RECORDER_MODULES_H

#include "symbols/symtab.h"

enum { MODULES_MAX = 1 << 16 }; /* also BPF programs and filters are some: services come with tens of these */

struct module_ranges;

struct modules {
	struct symtab *tabs[MODULES_MAX]; /* of all that ever were loaded */
	size_t count;
	struct module_ranges *ranges;
	unsigned readers; /* how many look up a range just now */
};

/* The sections of the table say which addresses are the module's. Takes the table over. */
void modules_add(struct modules *m, struct symtab *tab);

/* What begins there is code no more. */
void modules_free(struct modules *m, uint64_t start);

/* A number for the function at the address, above all those of the kernel itself; SYMTAB_NONE: none. */
long modules_function(struct modules *m, uint64_t addr);

/* Is it one of those numbers, and not a kernel's own function's? */
static inline bool modules_is_number(long function)
{
	return function >> 32;
}

/* Whose function that is: its place in `tabs`. */
static inline size_t modules_number(long function)
{
	return (size_t)(function >> 32) - 1;
}

const struct symbol *modules_symbol(const struct modules *m, long function);
const char *modules_name(const struct modules *m, long function);

#endif
