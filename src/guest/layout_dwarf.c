/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "layout.h"

enum {
	ANONYMOUS_DEPTH = 8,
	MEMBERS_MAX = 1 << 14, /* are looked at for one: a hostile structure has itself as a member, many times */
	OFFSET_MAX = 1 << 24,
};

/* The structures that members are looked for in, each up to its first definition. */
struct wanted {
	struct map structures; /* hash of a structure's name → 1; 0: it was found */
	size_t left;
	struct layout *layout;
};

static uint64_t structure_of(const char *member)
{
	cleanup_free char *name = xstrndup(member, strcspn(member, "."));

	return hash_text(0, name);
}

static void want(struct wanted *w, uint64_t structure)
{
	uint64_t *wanted = map_put(&w->structures, structure, 0);

	w->left += !*wanted;
	*wanted = 1;
}

static bool is_wanted(const struct wanted *w, const char *structure)
{
	const uint64_t *wanted = map_get(&w->structures, hash_text(0, structure));

	return wanted && *wanted;
}

static bool type_of(Dwarf_Die *die, Dwarf_Die *ret)
{
	Dwarf_Attribute attr;
	Dwarf_Die type;

	return dwarf_attr(die, DW_AT_type, &attr) && dwarf_formref_die(&attr, &type) &&
	       dwarf_peel_type(&type, ret) == 0;
}

/* Where a member lies; -1: within a byte, or not told. */
static int64_t place_of(Dwarf_Die *member)
{
	Dwarf_Attribute attr;
	Dwarf_Word at = 0;

	if (dwarf_attr(member, DW_AT_data_bit_offset, &attr))
		return dwarf_formudata(&attr, &at) == 0 && at % 8 == 0 ? (int64_t)(at / 8) : -1;
	/* of a union's members none is told */
	if (dwarf_attr(member, DW_AT_data_member_location, &attr) && dwarf_formudata(&attr, &at) < 0)
		return -1;
	return at < OFFSET_MAX ? (int64_t)at : -1;
}

/* The offset of the named member, also if it is in an anonymous one; -1: there is none. */
static int64_t find_within(Dwarf_Die *type, const char *name, int depth, unsigned *left)
{
	Dwarf_Die child, inner;

	if (depth > ANONYMOUS_DEPTH || dwarf_child(type, &child))
		return -1;
	do {
		const char *here = dwarf_diename(&child);
		int64_t at, within;

		if (!*left || !--*left)
			return -1;
		if (dwarf_tag(&child) != DW_TAG_member)
			continue;
		at = place_of(&child);
		if (here && !strcmp(here, name))
			return at;
		if (here || at < 0 || !type_of(&child, &inner))
			continue;
		within = find_within(&inner, name, depth + 1, left);
		if (within >= 0)
			return at + within;
	} while (dwarf_siblingof(&child, &child) == 0);
	return -1;
}

static int64_t find_member(Dwarf_Die *type, const char *name)
{
	unsigned left = MEMBERS_MAX;

	return find_within(type, name, 0, &left);
}

static bool is_of(const char *member, const char *structure)
{
	size_t n = strlen(structure);

	return member && !strncmp(member, structure, n) && member[n] == '.';
}

static void take_structure(struct wanted *w, Dwarf_Die *type)
{
	const char *name = dwarf_diename(type);

	if (!name || dwarf_hasattr(type, DW_AT_declaration) || !is_wanted(w, name))
		return;
	*map_put(&w->structures, hash_text(0, name), 0) = 0;
	w->left--;
	for (int i = 0; i < MEMBERS; i++) {
		const char *member = layout_member((enum member)i), *older = layout_older_member((enum member)i);
		int64_t at = is_of(member, name) ? find_member(type, member + strlen(name) + 1) : -1;

		if (at < 0 && is_of(older, name))
			at = find_member(type, older + strlen(name) + 1);
		if (at >= 0)
			w->layout->offset[i] = (int32_t)at;
	}
	for (int i = 0; i < LAYOUT_SIZES; i++)
		if (!strcmp(layout_structure((enum layout_size)i), name) && dwarf_bytesize(type) > 0)
			w->layout->size[i] = (uint32_t)dwarf_bytesize(type);
}

static void go_through(struct wanted *w, Dwarf *dwarf)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Half version;
	uint8_t unit_type;
	Dwarf_Die unit, skeleton, child;

	while (w->left && dwarf_get_units(dwarf, cu, &cu, &version, &unit_type, &unit, &skeleton) == 0) {
		if (dwarf_child(&unit, &child))
			continue;
		do
			if (dwarf_tag(&child) == DW_TAG_structure_type)
				take_structure(w, &child);
		while (w->left && dwarf_siblingof(&child, &child) == 0);
	}
}

/* libdwfl also relocates the debug information of an object file. It is not to look for other files. */
static int find_no_debuginfo(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base, const char *file,
			     const char *link, GElf_Word crc, char **ret_path)
{
	(void)module, (void)data, (void)name, (void)base, (void)file, (void)link, (void)crc, (void)ret_path;
	return -1;
}

static const Dwfl_Callbacks callbacks = {
	.find_debuginfo = find_no_debuginfo, .section_address = dwfl_offline_section_address,
};

int layout_from_dwarf(const char *path, struct layout *ret, struct error *err)
{
	struct wanted w = { .layout = ret };
	Dwfl *dwfl = dwfl_begin(&callbacks);
	Dwfl_Module *module = dwfl ? dwfl_report_offline(dwfl, path, path, -1) : NULL;
	Dwarf_Addr bias;
	Dwarf *dwarf = module && dwfl_report_end(dwfl, NULL, NULL) == 0 ? dwfl_module_getdwarf(module, &bias) : NULL;

	layout_init(ret);
	for (int i = 0; i < MEMBERS; i++)
		want(&w, structure_of(layout_member((enum member)i)));
	for (int i = 0; i < LAYOUT_SIZES; i++)
		want(&w, hash_text(0, layout_structure((enum layout_size)i)));
	if (dwarf)
		go_through(&w, dwarf);
	ret->whole = ret->offset[TASK_PID] != MEMBER_UNKNOWN;
	dwfl_end(dwfl);
	map_free(&w.structures);
	return ret->whole ? 0 : error_set(err, "has neither BTF nor debug information of a kernel");
}
