/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf_loaded.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum {
	SEGMENTS_MAX = 64,
	DYNAMIC_MAX = 256,     /* entries */
	SYMBOLS_MAX = 1 << 18,
	NAME_LEN = 1024,
	STEP = 64,             /* bytes of a name that are read at once: readable memory may end behind the name */
};

struct loaded {
	memory_reader read;
	void *state;
	uint64_t bias;         /* addresses in memory, less those in the file */
	Elf64_Phdr segments[SEGMENTS_MAX];
	size_t n_segments;
	uint64_t symtab, strtab, strsz, hash, gnu_hash; /* in memory; 0: not told */
	struct symtab tab;
	struct symtab_function *functions;
	size_t count, cap;
};

static bool read_header(struct loaded *l, uint64_t base)
{
	Elf64_Ehdr h;

	if (!l->read(l->state, base, &h, sizeof h) || memcmp(h.e_ident, ELFMAG, SELFMAG) ||
	    h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ident[EI_DATA] != ELFDATA2LSB ||
	    h.e_phentsize != sizeof *l->segments || !h.e_phnum || h.e_phnum > SEGMENTS_MAX)
		return false;
	l->n_segments = h.e_phnum;
	return l->read(l->state, base + h.e_phoff, l->segments, h.e_phnum * sizeof *l->segments);
}

/* The bias: `base` minus the address that the file's first byte was linked for. */
static bool find_bias(struct loaded *l, uint64_t base)
{
	for (size_t i = 0; i < l->n_segments; i++)
		if (l->segments[i].p_type == PT_LOAD && !l->segments[i].p_offset) {
			l->bias = base - l->segments[i].p_vaddr;
			return true;
		}
	return false;
}

/* The loaded segment that holds an address of the file, or NULL. */
static const Elf64_Phdr *segment_of(const struct loaded *l, uint64_t addr)
{
	for (size_t i = 0; i < l->n_segments; i++)
		if (l->segments[i].p_type == PT_LOAD && addr - l->segments[i].p_vaddr < l->segments[i].p_memsz)
			return &l->segments[i];
	return NULL;
}

/* glibc's linker replaces the file's addresses by addresses in memory; other linkers leave them. */
static uint64_t in_memory(const struct loaded *l, uint64_t addr)
{
	return segment_of(l, addr) ? addr + l->bias : addr;
}

static void take_dynamic(struct loaded *l, const Elf64_Dyn *d)
{
	switch (d->d_tag) {
	case DT_SYMTAB:
		l->symtab = in_memory(l, d->d_un.d_ptr);
		break;
	case DT_STRTAB:
		l->strtab = in_memory(l, d->d_un.d_ptr);
		break;
	case DT_STRSZ:
		l->strsz = d->d_un.d_val;
		break;
	case DT_HASH:
		l->hash = in_memory(l, d->d_un.d_ptr);
		break;
	case DT_GNU_HASH:
		l->gnu_hash = in_memory(l, d->d_un.d_ptr);
		break;
	default:
		break;
	}
}

static bool read_dynamic(struct loaded *l)
{
	Elf64_Dyn d;

	for (size_t i = 0; i < l->n_segments; i++) {
		if (l->segments[i].p_type != PT_DYNAMIC)
			continue;
		for (uint64_t k = 0; k < DYNAMIC_MAX && k < l->segments[i].p_memsz / sizeof d; k++) {
			if (!l->read(l->state, l->segments[i].p_vaddr + l->bias + k * sizeof d, &d, sizeof d) ||
			    d.d_tag == DT_NULL)
				break;
			take_dynamic(l, &d);
		}
	}
	return l->symtab && l->strtab && l->strsz;
}

static bool read_word(const struct loaded *l, uint64_t addr, uint32_t *ret)
{
	return l->read(l->state, addr, ret, sizeof *ret);
}

/* The symbol table has no length: its last symbol is the last one of the last hash chain. */
static uint32_t count_by_gnu_hash(const struct loaded *l)
{
	uint32_t header[4], last = 0, bucket, word; /* buckets, first symbol, words of the filter, its shift */
	uint64_t buckets, chains;

	if (!l->read(l->state, l->gnu_hash, header, sizeof header) || header[0] > SYMBOLS_MAX ||
	    header[2] > SYMBOLS_MAX)
		return 0;
	buckets = l->gnu_hash + sizeof header + (uint64_t)header[2] * 8;
	chains = buckets + (uint64_t)header[0] * sizeof bucket;
	for (uint32_t i = 0; i < header[0]; i++) {
		if (!read_word(l, buckets + (uint64_t)i * sizeof bucket, &bucket))
			return 0;
		last = bucket > last ? bucket : last;
	}
	if (last < header[1])
		return header[1];
	for (; last < SYMBOLS_MAX; last++) {
		if (!read_word(l, chains + (uint64_t)(last - header[1]) * sizeof word, &word))
			return 0;
		if (word & 1)
			return last + 1;
	}
	return 0;
}

static uint32_t count_symbols(const struct loaded *l)
{
	uint32_t header[2] = { 0 }; /* buckets, chains: one a symbol */
	uint32_t n = 0;

	if (l->hash && l->read(l->state, l->hash, header, sizeof header))
		n = header[1];
	if (!n && l->gnu_hash)
		n = count_by_gnu_hash(l);
	return n < SYMBOLS_MAX ? n : SYMBOLS_MAX;
}

/* Read a name. Returns false if it is not in memory or too long. */
static bool read_name(const struct loaded *l, uint64_t offset, char name[NAME_LEN])
{
	for (size_t got = 0; got < NAME_LEN && offset + got < l->strsz;) {
		size_t step = STEP - (l->strtab + offset + got) % STEP;

		if (step > NAME_LEN - got)
			step = NAME_LEN - got;
		if (!l->read(l->state, l->strtab + offset + got, name + got, step))
			return false;
		if (memchr(name + got, 0, step))
			return *name;
		got += step;
	}
	return false;
}

/* The offset in the file of an address in code. */
static bool offset_of(const struct loaded *l, uint64_t addr, uint64_t *ret)
{
	const Elf64_Phdr *s = segment_of(l, addr);

	if (!s || !(s->p_flags & PF_X) || addr - s->p_vaddr >= s->p_filesz)
		return false;
	*ret = addr - s->p_vaddr + s->p_offset;
	return true;
}

static void add_symbol(struct loaded *l, const Elf64_Sym *sym)
{
	unsigned type = ELF64_ST_TYPE(sym->st_info);
	struct symtab_function f = { .size = sym->st_size };
	char name[NAME_LEN];

	if ((type != STT_FUNC && type != STT_GNU_IFUNC) || sym->st_shndx == SHN_UNDEF || !sym->st_size ||
	    !offset_of(l, sym->st_value, &f.addr))
		return;
	f.section = symtab_section_of(&l->tab, f.addr);
	if (!f.section || !read_name(l, sym->st_name, name))
		return;
	f.name = xstrdup(name);
	l->functions = array_grow(l->functions, l->count, &l->cap, sizeof *l->functions);
	l->functions[l->count++] = f;
}

static void add_section(struct symtab *tab, uint64_t start, uint64_t end)
{
	tab->sections = xreallocarray(tab->sections, tab->n_sections + 1, sizeof *tab->sections);
	tab->sections[tab->n_sections++] = (struct symtab_section){ .addr = start, .end = end };
}

static void find_sections(struct loaded *l)
{
	add_section(&l->tab, 0, UINT64_MAX);
	for (size_t i = 0; i < l->n_segments; i++) {
		const Elf64_Phdr *s = &l->segments[i];

		if (s->p_type == PT_LOAD && (s->p_flags & PF_X) && s->p_filesz && s->p_offset <= INT64_MAX &&
		    s->p_filesz <= INT64_MAX)
			add_section(&l->tab, s->p_offset, s->p_offset + s->p_filesz);
	}
}

bool elf_loaded_symbols(uint64_t base, memory_reader read, void *state, struct symtab *ret)
{
	struct loaded l = { .read = read, .state = state };
	uint32_t n;

	if (!read_header(&l, base) || !find_bias(&l, base) || !read_dynamic(&l))
		return false;
	find_sections(&l);
	n = count_symbols(&l);
	for (uint64_t i = 1; i < n; i++) {
		Elf64_Sym sym;

		if (l.read(l.state, l.symtab + i * sizeof sym, &sym, sizeof sym))
			add_symbol(&l, &sym);
	}
	symtab_put_functions(&l.tab, l.functions, l.count, NULL);
	for (size_t i = 0; i < l.count; i++)
		free((char *)l.functions[i].name);
	free(l.functions);
	if (!l.tab.count) {
		symtab_deinit(&l.tab);
		return false;
	}
	*ret = l.tab;
	return true;
}
