/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf_unit.h"

#include <dwarf.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/search.h"

/* Many units of a broken file may name the same long list; a kernel has some hundred thousand ranges. */
#define RANGES_MAX (1 << 22)
enum {
	REFERENCES_MAX = 1 << 24,
	DEPTH = 128, /* of namespaces in namespaces, or of what is inlined in what is inlined */
};

struct unit_range {
	Dwarf_Addr begin, end;
	Dwarf_Off unit; /* of its entry */
};

/* An entry of code, and the function in another unit that it is code of. */
struct reference {
	Dwarf_Off function, entry;
};

struct dwarf_units {
	Dwfl_Module *module;
	bool read; /* the ranges were looked for */
	struct unit_range *ranges;
	size_t n, cap;
	bool referred; /* the references were looked for */
	struct reference *references;
	size_t n_references, references_cap;
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
	free(u->references);
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

static void each_unit(struct dwarf_units *u, Dwarf *dwarf, void (*each)(struct dwarf_units *u, Dwarf_Die *unit))
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die unit, skeleton;
	Dwarf_Half version;
	uint8_t type;

	while (dwarf_get_units(dwarf, cu, &cu, &version, &type, &unit, &skeleton) == 0)
		each(u, &unit);
}

static void read_ranges(struct dwarf_units *u, Dwarf *dwarf)
{
	u->read = true;
	each_unit(u, dwarf, add_ranges);
	if (u->n)
		qsort(u->ranges, u->n, sizeof *u->ranges, by_begin);
}

/* The last one that begins there or before. Ranges of units do not lie over each other. */
static const struct unit_range *find_range(const struct dwarf_units *u, Dwarf_Addr addr)
{
	size_t n = first_not(i, 0, u->n, u->ranges[i].begin <= addr);

	return n && addr < u->ranges[n - 1].end ? &u->ranges[n - 1] : NULL;
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

static bool go_through(Dwarf_Die *die, bool (*each)(void *context, Dwarf_Die *function), void *context, int depth)
{
	Dwarf_Die child;
	bool on = true;

	if (depth == DEPTH || dwarf_child(die, &child))
		return true;
	do {
		int tag = dwarf_tag(&child);

		if (tag == DW_TAG_subprogram)
			on = each(context, &child);
		else if (tag == DW_TAG_namespace || tag == DW_TAG_module)
			on = go_through(&child, each, context, depth + 1);
	} while (on && dwarf_siblingof(&child, &child) == 0);
	return on;
}

void dwarf_each_function(Dwarf_Die *unit, bool (*each)(void *context, Dwarf_Die *function), void *context)
{
	go_through(unit, each, context, 0);
}

static void add_references_below(struct dwarf_units *u, Dwarf_Die *die, int depth)
{
	Dwarf_Die child, origin;
	Dwarf_Attribute attr;

	if (depth == DEPTH || dwarf_child(die, &child))
		return;
	do {
		if (dwarf_attr(&child, DW_AT_abstract_origin, &attr) && dwarf_whatform(&attr) == DW_FORM_ref_addr &&
		    dwarf_formref_die(&attr, &origin) && dwarf_tag(&origin) == DW_TAG_subprogram) {
			u->references = array_grow(u->references, u->n_references, &u->references_cap,
						   sizeof *u->references);
			u->references[u->n_references++] =
				(struct reference){ dwarf_dieoffset(&origin), dwarf_dieoffset(&child) };
		}
		add_references_below(u, &child, depth + 1);
	} while (u->n_references < REFERENCES_MAX && dwarf_siblingof(&child, &child) == 0);
}

static void add_references(struct dwarf_units *u, Dwarf_Die *unit)
{
	add_references_below(u, unit, 0);
}

static int by_function(const void *a, const void *b)
{
	const struct reference *x = a, *y = b;

	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	return (x->entry > y->entry) - (x->entry < y->entry);
}

static void read_references(struct dwarf_units *u, Dwarf *dwarf)
{
	u->referred = true;
	each_unit(u, dwarf, add_references);
	if (u->n_references)
		qsort(u->references, u->n_references, sizeof *u->references, by_function);
}

void dwarf_each_reference(struct dwarf_units *u, Dwarf_Die *function, int (*each)(Dwarf_Die *entry, void *context),
			  void *context)
{
	Dwarf_Addr bias;
	Dwarf *dwarf = dwfl_module_getdwarf(u->module, &bias);
	Dwarf_Off asked = dwarf_dieoffset(function);
	Dwarf_Die entry;

	if (!u->referred)
		read_references(u, dwarf);
	for (size_t k = first_not(i, 0, u->n_references, u->references[i].function < asked);
	     k < u->n_references && u->references[k].function == asked; k++)
		if (dwarf_offdie(dwarf, u->references[k].entry, &entry))
			each(&entry, context);
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
