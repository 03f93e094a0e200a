/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A System.map by address and by name, for addr2sym and sym2addr. The leading dot that names of code have on some CPUs
 * is dropped. Of several symbols at an address, or of a name, code comes first.
 */
#ifndef UPTO_KFI_SYMBOL_MAP_H
#define UPTO_KFI_SYMBOL_MAP_H

#include <stdbool.h>

#include "base/error.h"
#include "guest/symbol_list.h"

struct symbol_map {
	struct symbol_list list;
	uint32_t *by_addr, *by_name; /* indices of symbols */
	size_t count;
};

/* The caller deinitialises *ret also after an error. */
int symbol_map_read(const void *data, size_t len, struct symbol_map *ret, struct error *err);
void symbol_map_deinit(struct symbol_map *map);

/*
 * The nearest symbol at or below the address. Returns NULL if the address is outside of the map: below the first
 * symbol, at or above `_end`, or 64 KB above the last symbol.
 */
const char *symbol_map_at(const struct symbol_map *map, uint64_t addr, uint64_t *ret_offset);

/* Returns false if there is no symbol of that name. */
bool symbol_map_find(const struct symbol_map *map, const char *name, uint64_t *ret_addr);

#endif
