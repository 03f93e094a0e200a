/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Symbols as read from an image or a running kernel, not sorted. */
#ifndef UPTO_GUEST_SYMBOL_LIST_H
#define UPTO_GUEST_SYMBOL_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct raw_symbol {
	uint64_t addr;
	uint64_t size;     /* 0: not known */
	uint32_t name;     /* offset into names */
	char type;         /* as nm(1): t T text, w W weak, d D data … */
};

struct symbol_list {
	struct raw_symbol *symbols;
	size_t count, cap;
	char *names;
	size_t names_len, names_cap;
};

void symbol_list_free(struct symbol_list *list);
void symbol_list_add(struct symbol_list *list, uint64_t addr, uint64_t size, char type, const char *name, size_t len);

static inline const char *symbol_list_name(const struct symbol_list *list, size_t i)
{
	return list->names + list->symbols[i].name;
}

/* Is it code, by nm's letter? */
static inline bool symbol_is_text(char type)
{
	return type == 't' || type == 'T' || type == 'w' || type == 'W';
}

/* The symbol of that name, or NULL. Takes time linear in the number of symbols. */
const struct raw_symbol *symbol_list_find(const struct symbol_list *list, const char *name);

#endif
