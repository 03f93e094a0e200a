/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which unit of a file's debug information an address was compiled in, and from which source, and where a unit's
 * functions have their entries. elfutils look in .debug_aranges alone, which gcc and GNU as write and clang does not:
 * where that names none, the ranges of the units themselves are asked.
 */
#ifndef UPTO_SYMBOLS_DWARF_UNIT_H
#define UPTO_SYMBOLS_DWARF_UNIT_H

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <stdbool.h>

struct dwarf_units;

struct dwarf_units *dwarf_units_new(Dwfl_Module *module);
void dwarf_units_free(struct dwarf_units *u);

/*
 * An address of the module's. *ret_bias: what it is more than an address in the debug information. False: no unit has
 * it, or there is no debug information.
 */
bool dwarf_unit_at(struct dwarf_units *u, Dwarf_Addr addr, Dwarf_Die *ret, Dwarf_Addr *ret_bias);

/*
 * Call `each` for the entries of a unit's functions until it returns false. gcc has them all in the unit itself, clang
 * and rustc in their namespaces.
 */
void dwarf_each_function(Dwarf_Die *unit, bool (*each)(void *context, Dwarf_Die *function), void *context);

/*
 * Call `each` for the entries in other units that are code of a function: gcc -flto has all code in units of its own,
 * dwz what units share. The first call reads all of the debug information.
 */
void dwarf_each_reference(struct dwarf_units *u, Dwarf_Die *function, int (*each)(Dwarf_Die *entry, void *context),
			  void *context);

/*
 * The file that an entry says it was declared in, as its unit has it; NULL: it says none. As long as the debug
 * information. dwarf_decl_file() takes a unit's file 0 for none, which it is up to DWARF 4; in DWARF 5 it is the unit's
 * own source (6.2.4), by which clang calls it.
 */
const char *dwarf_declared_in(Dwarf_Die *die);

#endif
