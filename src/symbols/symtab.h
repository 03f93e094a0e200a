/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions sorted by address, with one name for each address. A function reaches
 * to the next one or to the end of its section. Addresses are link addresses: the
 * caller subtracts the slide before a lookup.
 */
#ifndef UPTO_SYMBOLS_SYMTAB_H
#define UPTO_SYMBOLS_SYMTAB_H

#include <stdint.h>

#include "guest/kernel_image.h"

struct symbol {
	uint64_t addr, end;
	uint32_t name;    /* offset into names */
	uint16_t section; /* index into sections */
};

struct symtab_section {
	uint64_t addr, end;
	char name[32];
};

struct symtab {
	struct symbol *symbols;
	size_t count;
	char *names;
	size_t names_len;
	struct symtab_section *sections;
	size_t n_sections;
	/*
	 * by page from the first function on: the last function that begins at or before it; NULL: see symtab_index()
	 */
	uint32_t *pages;
};

enum { SYMTAB_NONE = -1 };

/* A function that is to be put into a table. */
struct symtab_function {
	uint64_t addr, size;  /* size 0: not known; the function reaches to the next one or to the end of its section */
	const char *name;
	uint16_t section;     /* index */
	bool local;
};

/*
 * Fill in the functions of a table whose sections are set. If several have the same
 * address, a global one is kept, rather one that does not begin with '_', and rather a
 * short one. `rename` returns the name to keep, which is freed afterwards; NULL: keep
 * the names as they are.
 */
void symtab_put_functions(struct symtab *tab, struct symtab_function *list, size_t n,
			  char *(*rename)(const char *name));

/* Rename all functions by `rename`, as symtab_put_functions() does. Returns false if no name changed. */
bool symtab_rename(struct symtab *tab, char *(*rename)(const char *name));

/*
 * *cap: the number of sections that there is space for, kept by the caller; 0 at first. A name is cut after 31 bytes.
 */
void symtab_add_section(struct symtab *tab, size_t *cap, uint64_t addr, uint64_t end, const char *name);

/* Index of the section that holds the address. 0, the index of the first section: none. */
uint16_t symtab_section_of(const struct symtab *tab, uint64_t addr);

void symtab_from_image(struct symtab *ret, const struct kernel_image *image);
void symtab_deinit(struct symtab *tab);

/*
 * The functions are complete: make what symtab_lookup() finds them by. Of few, or of some far from all others, nothing
 * is made, and it goes without.
 */
void symtab_index(struct symtab *tab);

/* Index of the function that holds the address, or SYMTAB_NONE. */
long symtab_lookup(const struct symtab *tab, uint64_t addr);

/*
 * The bounds of the function that holds the address, as guest/tail_jumps.h asks for them of a struct symtab; false:
 * none does.
 */
bool symtab_bounds(const void *symtab, uint64_t addr, uint64_t *ret_start, uint64_t *ret_end);

static inline const char *symtab_name(const struct symtab *tab, long i)
{
	return tab->names + tab->symbols[i].name;
}

static inline const char *symtab_section_name(const struct symtab *tab, long i)
{
	return tab->sections[tab->symbols[i].section].name;
}

#endif
