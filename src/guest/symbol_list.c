/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

void symbol_list_free(struct symbol_list *list)
{
	free(list->symbols);
	free(list->names);
	*list = (struct symbol_list){ 0 };
}

void symbol_list_add(struct symbol_list *list, uint64_t addr, uint64_t size, char type, const char *name, size_t len)
{
	while (list->names_cap - list->names_len < len + 1) {
		list->names_cap = list->names_cap ? list->names_cap * 2 : 4096;
		list->names = xreallocarray(list->names, list->names_cap, 1);
	}
	list->symbols = array_grow(list->symbols, list->count, &list->cap, sizeof *list->symbols);
	list->symbols[list->count++] = (struct raw_symbol){
		.addr = addr, .size = size, .type = type, .name = (uint32_t)list->names_len,
	};
	memcpy(list->names + list->names_len, name, len);
	list->names[list->names_len + len] = '\0';
	list->names_len += len + 1;
}

const struct raw_symbol *symbol_list_find(const struct symbol_list *list, const char *name)
{
	for (size_t i = 0; i < list->count; i++)
		if (!strcmp(symbol_list_name(list, i), name))
			return &list->symbols[i];
	return NULL;
}
