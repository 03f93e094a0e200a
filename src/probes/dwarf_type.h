/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Types of the source, as DWARF describes them. */
#ifndef UPTO_PROBES_DWARF_TYPE_H
#define UPTO_PROBES_DWARF_TYPE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "probe_definition.h"

/* The type of a variable, member, pointer or array, without typedefs and qualifiers. False: void, or none. */
bool dwarf_type_of(Dwarf_Die *die, Dwarf_Die *ret);

/* Append it as in C: "struct file *", "char[16]". */
void dwarf_type_put(Dwarf_Die *die, struct buf *out);

struct dwarf_member {
	Dwarf_Die die;
	uint64_t bytes;       /* from the structure's begin */
	unsigned bits, shift; /* of a bit field, within a number of `width` bytes there; bits 0: it is none */
	unsigned width;
};

/* Also one of an anonymous member. False: there is none of that name. */
bool dwarf_find_member(Dwarf_Die *structure, const char *name, struct dwarf_member *ret);

bool dwarf_is_structure(Dwarf_Die *type);

/* What a number of that type is printed as. False: it is none of 1, 2, 4 or 8 bytes. */
bool dwarf_type_of_number(Dwarf_Die *type, struct probe_type *ret);

/* Elements of an array's dimension, from 0 on; 0: not known, or it has fewer dimensions. */
uint64_t dwarf_array_count(Dwarf_Die *array, unsigned dimension);
unsigned dwarf_array_dimensions(Dwarf_Die *array);

/* All of a type in bytes; of an array, of an element that so many dimensions lead to. 0: it is not known. */
int64_t dwarf_size_of(Dwarf_Die *type, unsigned dimensions);

#endif
