/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf_symbols.h"

#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "source_name.h"

enum {
	SECTIONS_MAX = 1 << 10,
	SYMBOLS_MAX = 1 << 22,
};

struct function {
	uint64_t offset, size;
	const char *name;
	uint16_t section;
	bool local;
};

struct build {
	Elf *elf;
	struct symtab tab;
	size_t sections_cap;
	struct function *functions;
	size_t count, cap;
};

static void add_section(struct build *b, uint64_t start, uint64_t end, const char *name)
{
	struct symtab_section *s;

	b->tab.sections = array_grow(b->tab.sections, b->tab.n_sections, &b->sections_cap, sizeof *b->tab.sections);
	s = &b->tab.sections[b->tab.n_sections++];
	*s = (struct symtab_section){ .addr = start, .end = end };
	snprintf(s->name, sizeof s->name, "%s", name);
}

static void find_sections(struct build *b)
{
	size_t names;
	Elf_Scn *scn = NULL;

	add_section(b, 0, UINT64_MAX, "");
	if (elf_getshdrstrndx(b->elf, &names) < 0)
		return;
	while ((scn = elf_nextscn(b->elf, scn)) && b->tab.n_sections < SECTIONS_MAX) {
		GElf_Shdr h;
		const char *name;

		if (!gelf_getshdr(scn, &h) || !(h.sh_flags & SHF_EXECINSTR) || h.sh_type == SHT_NOBITS || !h.sh_size ||
		    h.sh_offset > INT64_MAX || h.sh_size > INT64_MAX)
			continue;
		name = elf_strptr(b->elf, names, h.sh_name);
		add_section(b, h.sh_offset, h.sh_offset + h.sh_size, name ? name : "");
	}
}

static uint16_t section_of(const struct symtab *tab, uint64_t offset)
{
	/* the first entry stands for "none" */
	for (size_t i = 1; i < tab->n_sections; i++)
		if (offset >= tab->sections[i].addr && offset < tab->sections[i].end)
			return (uint16_t)i;
	return 0;
}

/* Where in the file an address is loaded from. */
static bool offset_of(const struct build *b, uint64_t addr, uint64_t *ret)
{
	size_t n;

	if (elf_getphdrnum(b->elf, &n) < 0)
		return false;
	for (size_t i = 0; i < n && i < SECTIONS_MAX; i++) {
		GElf_Phdr h;

		if (gelf_getphdr(b->elf, (int)i, &h) && h.p_type == PT_LOAD && addr - h.p_vaddr < h.p_filesz) {
			*ret = addr - h.p_vaddr + h.p_offset;
			return true;
		}
	}
	return false;
}

static void take(struct build *b, const GElf_Sym *sym, const char *name)
{
	unsigned type = GELF_ST_TYPE(sym->st_info);
	struct function f = { .size = sym->st_size, .name = name, .local = GELF_ST_BIND(sym->st_info) == STB_LOCAL };

	if (!name || !*name || (type != STT_FUNC && type != STT_GNU_IFUNC) || sym->st_shndx == SHN_UNDEF ||
	    !offset_of(b, sym->st_value, &f.offset))
		return;
	f.section = section_of(&b->tab, f.offset);
	if (!f.section)
		return;
	b->functions = array_grow(b->functions, b->count, &b->cap, sizeof *b->functions);
	b->functions[b->count++] = f;
}

/* From the table of that type; false: there is none. */
static bool find_functions(struct build *b, Elf *elf, uint32_t type)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr h;
	Elf_Data *data;
	GElf_Sym sym;

	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &h) && h.sh_type == type)
			break;
	data = scn ? elf_getdata(scn, NULL) : NULL;
	if (!data || !h.sh_entsize)
		return false;
	for (size_t i = 1; i < h.sh_size / h.sh_entsize && i < SYMBOLS_MAX && gelf_getsym(data, (int)i, &sym); i++)
		take(b, &sym, elf_strptr(elf, h.sh_link, sym.st_name));
	return b->count;
}

static int by_offset(const void *va, const void *vb)
{
	const struct function *a = va, *b = vb;

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	if (a->local != b->local)
		return a->local ? 1 : -1;
	return strcmp(a->name, b->name);
}

static void put_name(struct buf *names, const char *name)
{
	cleanup_free char *source = source_name(name);

	buf_put(names, source, strlen(source) + 1);
}

static void put_functions(struct build *b)
{
	struct symtab *tab = &b->tab;
	struct buf names = { 0 };

	if (b->count)
		qsort(b->functions, b->count, sizeof *b->functions, by_offset);
	tab->symbols = xcalloc(b->count, sizeof *tab->symbols);
	for (size_t i = 0; i < b->count; i++) {
		const struct function *f = &b->functions[i], *next = f + 1;
		uint64_t limit = tab->sections[f->section].end;

		if (i && f->offset == f[-1].offset)
			continue;
		while (next < b->functions + b->count && next->offset == f->offset)
			next++;
		if (next < b->functions + b->count && next->offset < limit)
			limit = next->offset;
		tab->symbols[tab->count++] = (struct symbol){
			.addr = f->offset, .name = (uint32_t)names.len, .section = f->section,
			.end = f->size && f->size < limit - f->offset ? f->offset + f->size : limit,
		};
		put_name(&names, f->name);
	}
	tab->names = (char *)names.data;
	tab->names_len = names.len;
}

int elf_symbols(const void *data, size_t len, const void *symbols, size_t symbols_len, struct symtab *ret, struct error *err)
{
	struct build b = { 0 };
	Elf *other;

	elf_version(EV_CURRENT);
	/* libelf does not write to it */
	b.elf = elf_memory((char *)data, len);
	other = elf_memory((char *)symbols, symbols_len);
	if (!b.elf || elf_kind(b.elf) != ELF_K_ELF) {
		elf_end(b.elf);
		elf_end(other);
		return error_set(err, "not an ELF file");
	}
	find_sections(&b);
	if (!other || elf_kind(other) != ELF_K_ELF || !find_functions(&b, other, SHT_SYMTAB))
		find_functions(&b, b.elf, SHT_DYNSYM);
	put_functions(&b);
	elf_end(b.elf);
	elf_end(other);
	free(b.functions);
	*ret = b.tab;
	return 0;
}
