/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/search.h"
#include "guest/system_map.h"
#include "log.h"

static const char *name_of(const struct symbol_map *map, uint32_t i)
{
	const char *name = symbol_list_name(&map->list, i);

	return name[0] == '.' && name[1] ? name + 1 : name;
}

/* Code first, global symbols before local ones. */
static int rank(char type)
{
	const char *types = "TtWw", *at = strchr(types, type);

	return at ? (int)(at - types) : (int)strlen(types);
}

static int by_rank(const struct symbol_map *map, uint32_t a, uint32_t b)
{
	int ra = rank(map->list.symbols[a].type), rb = rank(map->list.symbols[b].type);

	return ra != rb ? ra - rb : a < b ? -1 : a > b;
}

static int by_addr(const void *va, const void *vb, void *vmap)
{
	uint32_t a = *(const uint32_t *)va, b = *(const uint32_t *)vb;
	const struct symbol_map *map = vmap;
	uint64_t aa = map->list.symbols[a].addr, ab = map->list.symbols[b].addr;

	return aa != ab ? (aa < ab ? -1 : 1) : by_rank(map, a, b);
}

static int by_name(const void *va, const void *vb, void *vmap)
{
	uint32_t a = *(const uint32_t *)va, b = *(const uint32_t *)vb;
	const struct symbol_map *map = vmap;
	int order = strcmp(name_of(map, a), name_of(map, b));

	return order ? order : by_rank(map, a, b);
}

int symbol_map_read(const void *data, size_t len, struct symbol_map *ret, struct error *err)
{
	*ret = (struct symbol_map){ 0 };
	if (system_map_read(data, len, &ret->list, err) < 0)
		return -1;
	ret->by_addr = xcalloc(ret->list.count, sizeof *ret->by_addr);
	ret->by_name = xcalloc(ret->list.count, sizeof *ret->by_name);
	for (uint32_t i = 0; i < ret->list.count; i++) {
		/* ARM's assembler marks kinds of code by names like $a; symbols of type U have no address */
		if (symbol_list_name(&ret->list, i)[0] == '$' || ret->list.symbols[i].type == 'U')
			continue;
		ret->by_addr[ret->count] = ret->by_name[ret->count] = i;
		ret->count++;
	}
	qsort_r(ret->by_addr, ret->count, sizeof *ret->by_addr, by_addr, ret);
	qsort_r(ret->by_name, ret->count, sizeof *ret->by_name, by_name, ret);
	return 0;
}

void symbol_map_deinit(struct symbol_map *map)
{
	symbol_list_free(&map->list);
	free(map->by_addr);
	free(map->by_name);
	*map = (struct symbol_map){ 0 };
}

static uint64_t addr_of(const struct symbol_map *map, size_t i)
{
	return map->list.symbols[map->by_addr[i]].addr;
}

/* How many symbols are at or below the address. */
static size_t count_up_to(const struct symbol_map *map, uint64_t addr)
{
	return first_not(i, 0, map->count, addr_of(map, i) <= addr);
}

const char *symbol_map_at(const struct symbol_map *map, uint64_t addr, uint64_t *ret_offset)
{
	size_t n = count_up_to(map, addr);
	uint64_t at;

	if (!n)
		return NULL;
	at = addr_of(map, n - 1);
	if (n == map->count && (addr - at >= KFI_FUNCTION_MAX || !strcmp(name_of(map, map->by_addr[n - 1]), "_end")))
		return NULL;
	for (; n > 1 && addr_of(map, n - 2) == at; n--)
		;
	*ret_offset = addr - at;
	return name_of(map, map->by_addr[n - 1]);
}

bool symbol_map_find(const struct symbol_map *map, const char *name, uint64_t *ret_addr)
{
	size_t low = first_not(i, 0, map->count, strcmp(name_of(map, map->by_name[i]), name) < 0);

	if (low == map->count || strcmp(name_of(map, map->by_name[low]), name))
		return false;
	*ret_addr = map->list.symbols[map->by_name[low]].addr;
	return true;
}
