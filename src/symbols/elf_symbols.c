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

struct build {
	Elf *elf;
	struct symtab tab;
	size_t sections_cap;
	struct symtab_function *functions; /* addresses: offsets in the file */
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

static void add_symbol(struct build *b, const GElf_Sym *sym, const char *name)
{
	unsigned type = GELF_ST_TYPE(sym->st_info);
	struct symtab_function f = {
		.size = sym->st_size, .name = name, .local = GELF_ST_BIND(sym->st_info) == STB_LOCAL,
	};

	if (!name || !*name || (type != STT_FUNC && type != STT_GNU_IFUNC) || sym->st_shndx == SHN_UNDEF ||
	    !offset_of(b, sym->st_value, &f.addr))
		return;
	f.section = symtab_section_of(&b->tab, f.addr);
	if (!f.section)
		return;
	b->functions = array_grow(b->functions, b->count, &b->cap, sizeof *b->functions);
	b->functions[b->count++] = f;
}

/* Read the table of that type. Returns false if there is none. */
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
		add_symbol(b, &sym, elf_strptr(elf, h.sh_link, sym.st_name));
	return b->count;
}

int elf_symbols(const void *data, size_t len, const void *symbols, size_t symbols_len, struct symtab *ret,
		struct error *err)
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
	symtab_put_functions(&b.tab, b.functions, b.count, source_name);
	elf_end(b.elf);
	elf_end(other);
	free(b.functions);
	*ret = b.tab;
	return 0;
}
