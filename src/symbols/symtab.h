/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions by address: sorted, one name an address, each reaching to the next
 * one or to the end of its section. Addresses are link addresses; whoever asks
 * takes the slide off first.
 */
#ifndef UPTO_SYMBOLS_SYMTAB_H
#define UPTO_SYMBOLS_SYMTAB_H

#include <stdint.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/error.h"
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
};

enum { SYMTAB_NONE = -1 };

/* A function on its way into a table. */
struct symtab_function {
	uint64_t addr, size;  /* size 0: not told; it reaches to the next, or to its section's end */
	const char *name;
	uint16_t section;     /* index */
	bool local;
};

/*
 * Fill in the functions of a table that has its sections. Of several at one address
 * a global one counts. `rename` gives the name to be kept, to be freed; NULL: as it is.
 */
void symtab_put_functions(struct symtab *tab, struct symtab_function *list, size_t n, char *(*rename)(const char *name));

/* Give all functions other names, as symtab_put_functions() does. False: all have the name they had. */
bool symtab_rename(struct symtab *tab, char *(*rename)(const char *name));

/* Index of the section that holds the address; 0, the first one's: none. */
uint16_t symtab_section_of(const struct symtab *tab, uint64_t addr);

void symtab_from_image(struct symtab *ret, const struct kernel_image *image);
void symtab_deinit(struct symtab *tab);

/* Index of the function that holds the address, or SYMTAB_NONE. */
long symtab_lookup(const struct symtab *tab, uint64_t addr);

static inline const char *symtab_name(const struct symtab *tab, long i)
{
	return tab->names + tab->symbols[i].name;
}

static inline const char *symtab_section_name(const struct symtab *tab, long i)
{
	return tab->sections[tab->symbols[i].section].name;
}

/* The form it has in a trace (docs/format.md, chunk SYMBOLS). */
void symtab_encode(const struct symtab *tab, struct buf *out);
int symtab_decode(struct cursor *in, struct symtab *ret, struct error *err);

#endif
