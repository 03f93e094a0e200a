/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf_unit.h"

#include <dwarf.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"

/* Many units of a broken file may name the same long list; a kernel has some hundred thousand ranges. */
#define RANGES_MAX (1 << 22)

struct unit_range {
	Dwarf_Addr begin, end;
	Dwarf_Off unit; /* of its entry */
};

struct dwarf_units {
	Dwfl_Module *module;
	bool read; /* the ranges were looked for */
	struct unit_range *ranges;
	size_t n, cap;
};

struct dwarf_units *dwarf_units_new(Dwfl_Module *module)
{
	struct dwarf_units *u = xcalloc(1, sizeof *u);

	u->module = module;
	return u;
}

void dwarf_units_free(struct dwarf_units *u)
{
	if (!u)
		return;
	free(u->ranges);
	free(u);
}

static void add_ranges(struct dwarf_units *u, Dwarf_Die *unit)
{
	Dwarf_Addr base, begin, end;
	ptrdiff_t offset = 0;

	while (u->n < RANGES_MAX && (offset = dwarf_ranges(unit, offset, &base, &begin, &end)) > 0) {
		/* what the linker left out stands at 0 */
		if (!begin || begin >= end)
			continue;
		u->ranges = array_grow(u->ranges, u->n, &u->cap, sizeof *u->ranges);
		u->ranges[u->n++] = (struct unit_range){ begin, end, dwarf_dieoffset(unit) };
	}
}

static int by_begin(const void *a, const void *b)
{
	const struct unit_range *x = a, *y = b;

	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static void read_ranges(struct dwarf_units *u, Dwarf *dwarf)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die unit, skeleton;
	Dwarf_Half version;
	uint8_t type;

	u->read = true;
	while (dwarf_get_units(dwarf, cu, &cu, &version, &type, &unit, &skeleton) == 0)
		add_ranges(u, &unit);
	if (u->n)
		qsort(u->ranges, u->n, sizeof *u->ranges, by_begin);
}

/* The last one that begins there or before. Ranges of units do not lie over each other. */
static const struct unit_range *find_range(const struct dwarf_units *u, Dwarf_Addr addr)
{
	size_t low = 0, high = u->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (u->ranges[middle].begin <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low && addr < u->ranges[low - 1].end ? &u->ranges[low - 1] : NULL;
}

bool dwarf_unit_at(struct dwarf_units *u, Dwarf_Addr addr, Dwarf_Die *ret, Dwarf_Addr *ret_bias)
{
	Dwarf *dwarf = dwfl_module_getdwarf(u->module, ret_bias);
	Dwarf_Die *unit = dwarf ? dwfl_module_addrdie(u->module, addr, ret_bias) : NULL;
	const struct unit_range *range;

	if (unit) {
		*ret = *unit;
		return true;
	}
	if (dwarf && !u->read)
		read_ranges(u, dwarf);
	range = find_range(u, addr - *ret_bias);
	return range && dwarf_offdie(dwarf, range->unit, ret);
}

const char *dwarf_declared_in(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Word file;
	Dwarf_Die unit;
	Dwarf_Half version;
	Dwarf_Files *files;
	size_t n;

	if (!dwarf_attr_integrate(die, DW_AT_decl_file, &attr) || dwarf_formudata(&attr, &file) != 0 ||
	    !dwarf_cu_die(attr.cu, &unit, &version, NULL, NULL, NULL, NULL, NULL) || (!file && version < 5) ||
	    dwarf_getsrcfiles(&unit, &files, &n) != 0)
		return NULL;
	return dwarf_filesrc(files, file, NULL, NULL);
}
