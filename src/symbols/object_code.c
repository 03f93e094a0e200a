/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "object_code.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum {
	SECTIONS_MAX = 1 << 10,
	SYMBOLS_MAX = 1 << 22,
};

struct list {
	struct symtab_function *functions;
	size_t count, cap;
};

struct build {
	Elf *elf;
	struct object_code o;
	size_t sections_cap, parts_cap;
	struct list functions, labels;
};

static void add_part(struct build *b, Elf_Scn *scn, const GElf_Shdr *h, const char *name)
{
	Elf_Data *data = elf_rawdata(scn, NULL);
	struct object_code *o = &b->o;

	if (!data || !data->d_buf || h->sh_addr + data->d_size < h->sh_addr)
		return;
	if (!o->n_parts || !strcmp(name, ".text"))
		o->text = h->sh_addr;
	o->parts = array_grow(o->parts, o->n_parts, &b->parts_cap, sizeof *o->parts);
	o->parts[o->n_parts++] = (struct code_part){ .addr = h->sh_addr, .at = o->bytes.len, .len = data->d_size };
	buf_put(&o->bytes, data->d_buf, data->d_size);
	symtab_add_section(&o->tab, &b->sections_cap, h->sh_addr, h->sh_addr + data->d_size, name);
}

static void find_parts(struct build *b)
{
	Elf_Scn *scn = NULL;
	size_t names;

	symtab_add_section(&b->o.tab, &b->sections_cap, 0, UINT64_MAX, "");
	if (elf_getshdrstrndx(b->elf, &names) < 0)
		return;
	while ((scn = elf_nextscn(b->elf, scn)) && b->o.n_parts < SECTIONS_MAX) {
		const char *name;
		GElf_Shdr h;

		if (!gelf_getshdr(scn, &h) || h.sh_type != SHT_PROGBITS || !(h.sh_flags & SHF_EXECINSTR) ||
		    !(h.sh_flags & SHF_ALLOC) || !h.sh_size)
			continue;
		name = elf_strptr(b->elf, names, h.sh_name);
		add_part(b, scn, &h, name ? name : "");
	}
}

static void add_symbol(struct build *b, const GElf_Sym *sym, const char *name)
{
	unsigned type = GELF_ST_TYPE(sym->st_info);
	struct symtab_function f = {
		.addr = sym->st_value, .size = sym->st_size, .name = name,
		.local = GELF_ST_BIND(sym->st_info) == STB_LOCAL,
	};
	struct list *list;

	if (!name || !*name || *name == '.' || (type != STT_FUNC && type != STT_NOTYPE) || sym->st_shndx == SHN_UNDEF ||
	    sym->st_shndx == SHN_ABS)
		return;
	f.section = symtab_section_of(&b->o.tab, f.addr);
	if (!f.section)
		return;
	list = type == STT_NOTYPE && !f.size ? &b->labels : &b->functions;
	list->functions = array_grow(list->functions, list->count, &list->cap, sizeof *list->functions);
	list->functions[list->count++] = f;
}

static void find_functions(struct build *b)
{
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(b->elf, scn));) {
		Elf_Data *data;
		GElf_Shdr h;
		GElf_Sym sym;

		if (!gelf_getshdr(scn, &h) || h.sh_type != SHT_SYMTAB || !h.sh_entsize)
			continue;
		data = elf_getdata(scn, NULL);
		for (size_t i = 1;
		     data && i < h.sh_size / h.sh_entsize && i < SYMBOLS_MAX && gelf_getsym(data, (int)i, &sym); i++)
			add_symbol(b, &sym, elf_strptr(b->elf, h.sh_link, sym.st_name));
		break; /* a file has one such table */
	}
}

/*
 * Put what was found into tables. A label reaches at most to the next function; where there are only labels, they are
 * the functions.
 */
static void make_tables(struct build *b)
{
	struct object_code *o = &b->o;
	size_t next = 0, cap = 0;

	for (size_t i = 0; i < o->tab.n_sections; i++)
		symtab_add_section(&o->labels, &cap, o->tab.sections[i].addr, o->tab.sections[i].end,
				   o->tab.sections[i].name);
	symtab_put_functions(&o->tab, b->functions.functions, b->functions.count, NULL);
	symtab_put_functions(&o->labels, b->labels.functions, b->labels.count, NULL);
	for (size_t i = 0; i < o->labels.count; i++) {
		struct symbol *s = &o->labels.symbols[i];

		while (next < o->tab.count && o->tab.symbols[next].addr <= s->addr)
			next++;
		if (next < o->tab.count && o->tab.symbols[next].addr < s->end)
			s->end = o->tab.symbols[next].addr;
	}
	if (!o->tab.count) {
		struct symtab none = o->tab;

		o->tab = o->labels;
		o->labels = none;
	}
}

int object_code_parse(const void *data, size_t len, struct object_code *ret, struct error *err)
{
	struct build b = { 0 };
	GElf_Ehdr h;
	int result = 0;

	elf_version(EV_CURRENT);
	/* libelf does not write to it */
	b.elf = elf_memory((char *)data, len);
	if (!b.elf || elf_kind(b.elf) != ELF_K_ELF || !gelf_getehdr(b.elf, &h))
		result = error_set(err, "not an ELF file");
	else if (h.e_type == ET_REL)
		result = error_set(
			err,
			"is not linked, so that its functions have no addresses: give the file that it was linked into");
	if (result == 0) {
		find_parts(&b);
		find_functions(&b);
		make_tables(&b);
		if (!b.o.tab.count)
			result = error_set(err, "has no symbols of functions");
	}
	elf_end(b.elf);
	free(b.functions.functions);
	free(b.labels.functions);
	if (result < 0)
		object_code_deinit(&b.o);
	else
		*ret = b.o;
	return result;
}

void object_code_deinit(struct object_code *o)
{
	symtab_deinit(&o->tab);
	symtab_deinit(&o->labels);
	free(o->parts);
	buf_free(&o->bytes);
	*o = (struct object_code){ 0 };
}

const uint8_t *object_code_bytes(const struct object_code *o, uint64_t addr, size_t *ret_len)
{
	for (size_t i = 0; i < o->n_parts; i++) {
		const struct code_part *p = &o->parts[i];

		if (addr - p->addr < p->len) {
			*ret_len = p->len - (addr - p->addr);
			return o->bytes.data + p->at + (addr - p->addr);
		}
	}
	return NULL;
}

static uint64_t word_at(const uint8_t *bytes, size_t size)
{
	uint64_t word = 0;

	memcpy(&word, bytes, size);
	return word;
}

/* An address differs by the slide; a distance to what did not move, by as much the other way. */
static bool is_moved_word(const uint8_t *file, const uint8_t *memory, size_t size, uint64_t slide)
{
	uint64_t mask = size == 8 ? UINT64_MAX : UINT32_MAX, by = (word_at(memory, size) - word_at(file, size)) & mask;

	return by == (slide & mask) || by == (-slide & mask);
}

/*
 * The end of a moved word that has the byte at `i`, the first that differs; 0: there is none. It may begin a few bytes
 * before.
 */
static size_t moved_word(const uint8_t *file, const uint8_t *memory, size_t len, size_t i, uint64_t slide)
{
	for (size_t back = 0; back < 4 && back <= i; back++) {
		size_t at = i - back;

		for (size_t size = 8; size >= 4; size /= 2)
			if (at + size <= len && is_moved_word(file + at, memory + at, size, slide))
				return at + size;
	}
	return 0;
}

bool code_is_moved(const uint8_t *file, const uint8_t *memory, size_t len, uint64_t slide)
{
	for (size_t i = 0; i < len;) {
		if (file[i] == memory[i]) {
			i++;
			continue;
		}
		/* what is cut off at the end cannot be told */
		if (len - i < 4 && i >= 8)
			return true;
		i = slide ? moved_word(file, memory, len, i, slide) : 0;
		if (!i)
			return false;
	}
	return true;
}
