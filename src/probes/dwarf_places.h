/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where in the code a probe's place is: functions, also where they were inlined, and lines of the source. */
#ifndef UPTO_PROBES_DWARF_PLACES_H
#define UPTO_PROBES_DWARF_PLACES_H

#include "symbols/dwarf_file.h"
#include "probe_definition.h"

struct dwarf_place {
	uint64_t address; /* the file's */
	Dwarf_Die
		function; /* the one whose place it is: its definition, or the one that was inlined; addr NULL: none */
	Dwarf_Die unit;  /* addr NULL: it has no debug information */
	Dwarf_Die scope; /* the function's code that begins there; addr NULL: none does */
	bool begins;     /* it is the function's first instruction, where it was not inlined */
};

struct dwarf_places {
	struct dwarf_place *list;
	size_t count, room;
};

/*
 * Find a definition's places. An error: none is found; `err` says which lines or functions there are. Call
 * dwarf_places_deinit() in either case.
 */
int dwarf_places_init(struct dwarf_places *ret, const struct dwarf_file *f, const struct probe_definition *d,
		      struct error *err);
void dwarf_places_deinit(struct dwarf_places *p);

/* Does the file have a function of that name, or pattern, inlined or not, and in that source file (NULL: in any)? */
bool dwarf_has_function(const struct dwarf_file *f, const char *name, const char *source);

/* The definition of a function with that name: not one that is merely declared. False: there is none. */
bool dwarf_find_function(const struct dwarf_file *f, const char *name, const char *source, Dwarf_Die *ret,
			 Dwarf_Die *ret_unit);

/* First and last line of the function's source. */
void dwarf_function_lines(const struct dwarf_file *f, Dwarf_Die *function, Dwarf_Die *unit, int *ret_first,
			  int *ret_last);

/*
 * Mark which lines of a source file, from `first` to `last`, have code: of a function's, or of a whole unit's
 * (`function` NULL). marks[0] is the first one's.
 */
void dwarf_mark_lines(const struct dwarf_file *f, Dwarf_Die *function, Dwarf_Die *unit, const char *file, int first,
		      int last, bool *marks);

/* A source file that the path ends with: its whole path, and a unit that it is part of. NULL: there is none. */
const char *dwarf_find_source(const struct dwarf_file *f, const char *path, Dwarf_Die *ret_unit);

/* Does a source file's path end with that one's? */
bool dwarf_is_source(const char *path, const char *asked);

/* Where a source file is: as its compiler had it, or below `folder` (NULL: none). The caller frees it; NULL: nowhere.
 */
char *dwarf_source_path(Dwarf_Die *unit, const char *file, const char *folder);

#endif
