/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "dwarf_file.h"
#include "dwarf_unit.h"
#include "guest/function_name.h"
#include "source_name.h"

/* The address of a name that several functions have. */
#define AMBIGUOUS UINT64_MAX

struct source {
	struct dwarf_file *file;
	struct map functions; /* hash of the name → address or AMBIGUOUS */
	struct map typed;     /* addresses + 1 of those that have the type of a function */
};

static void add_function(struct source *s, const char *name, uint64_t addr, bool typed)
{
	cleanup_free char *source = source_name(name);
	uint64_t *known = map_put(&s->functions, hash_text(0, source), addr);

	if (typed)
		map_put(&s->typed, addr + 1, 0);
	if (*known != addr)
		*known = AMBIGUOUS;
}

static void find_functions(struct source *s)
{
	int n = dwfl_module_getsymtab(s->file->module);

	for (int i = 0; i < n; i++) {
		GElf_Sym sym;
		GElf_Addr addr;
		const char *name = dwfl_module_getsym_info(s->file->module, i, &sym, &addr, NULL, NULL, NULL);
		int type = GELF_ST_TYPE(sym.st_info);

		/* assembler's functions may have no type */
		if (!name || !*name || function_name_is_none(name) || sym.st_shndx == SHN_UNDEF)
			continue;
		if (type == STT_FUNC || type == STT_NOTYPE || type == STT_GNU_IFUNC)
			add_function(s, name, addr, type != STT_NOTYPE);
	}
}

int source_open(const char *path, struct source **ret, struct error *err)
{
	struct source *s = xcalloc(1, sizeof *s);

	if (dwarf_file_open(path, &s->file, err) < 0 || dwarf_file_require(s->file, err) < 0) {
		source_close(s);
		return -1;
	}
	find_functions(s);
	*ret = s;
	return 0;
}

void source_close(struct source *s)
{
	if (!s)
		return;
	dwarf_file_close(s->file);
	map_free(&s->functions);
	map_free(&s->typed);
	free(s);
}

bool source_function(const struct source *s, const char *name, uint64_t *ret_addr)
{
	const uint64_t *addr = map_get(&s->functions, hash_text(0, name));

	if (!addr || *addr == AMBIGUOUS)
		return false;
	*ret_addr = *addr;
	return true;
}

int source_section(const struct source *s, uint64_t addr)
{
	Dwarf_Addr offset = addr;

	return dwfl_module_relocate_address(s->file->module, &offset);
}

size_t source_functions(const struct source *s)
{
	return s->typed.count;
}

/* A file's path, relative to the folder that the unit was compiled in. */
static const char *below(Dwarf_Die *unit, const char *file)
{
	Dwarf_Attribute attr;
	const char *folder = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attr));
	size_t len = folder ? strlen(folder) : 0;

	if (!file || !len || strncmp(file, folder, len) || file[len] != '/')
		return file;
	return file + len + 1;
}

static const char *function_name(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attr));

	return name ? name : dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attr));
}

static int number(Dwarf_Die *die, unsigned attribute)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;

	if (!dwarf_attr(die, attribute, &attr) || dwarf_formudata(&attr, &value) != 0 || value > INT32_MAX)
		return 0;
	return (int)value;
}

/* The line that calls an inlined function, in the function that it is part of. */
static void call_place(Dwarf_Die *unit, Dwarf_Die *inlined, struct source_line *ret)
{
	size_t file = (size_t)number(inlined, DW_AT_call_file), count;
	Dwarf_Files *files;

	ret->line = number(inlined, DW_AT_call_line);
	ret->file = NULL;
	if (dwarf_getsrcfiles(unit, &files, &count) == 0 && file < count)
		ret->file = below(unit, dwarf_filesrc(files, file, NULL, NULL));
}

static size_t find_functions_at(Dwarf_Die *unit, Dwarf_Die *scopes, int n, struct source_line *ret)
{
	size_t count = 0;

	for (int i = 0; i < n && count < SOURCE_LINES_MAX; i++) {
		int tag = dwarf_tag(&scopes[i]);

		if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram)
			continue;
		ret[count].function = function_name(&scopes[i]);
		ret[count].inlined = tag == DW_TAG_inlined_subroutine;
		count++;
		if (tag == DW_TAG_subprogram)
			break;
		if (count < SOURCE_LINES_MAX)
			call_place(unit, &scopes[i], &ret[count]);
	}
	return count;
}

size_t source_at(const struct source *s, uint64_t addr, struct source_line ret[SOURCE_LINES_MAX])
{
	Dwarf_Addr bias;
	Dwarf_Die unit, *scopes = NULL;
	Dwarf_Line *line;
	size_t count = 0;
	int n;

	if (!dwarf_unit_at(s->file->units, addr, &unit, &bias))
		return 0;
	memset(ret, 0, SOURCE_LINES_MAX * sizeof *ret);
	line = dwarf_getsrc_die(&unit, addr - bias);
	if (line && dwarf_lineno(line, &ret[0].line) == 0)
		ret[0].file = below(&unit, dwarf_linesrc(line, NULL, NULL));
	n = dwarf_scopes(&unit, addr - bias, &scopes);
	if (n > 0)
		count = find_functions_at(&unit, scopes, n, ret);
	free(scopes);
	return count ? count : line != NULL;
}
