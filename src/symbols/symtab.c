/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symtab.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "guest/function_name.h"

struct candidate {
	uint64_t addr, size;
	const char *name;
	char type;
	bool mark;
	uint32_t order;
};

/* Order by address. Among aliases a mark comes last, a global one first, then the one that the image lists first. */
static int compare(const void *va, const void *vb)
{
	const struct candidate *a = va, *b = vb;
	int global;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	if (a->mark != b->mark)
		return a->mark ? 1 : -1;
	global = !!isupper((unsigned char)b->type) - !!isupper((unsigned char)a->type);
	if (global)
		return global;
	return a->order < b->order ? -1 : 1;
}

void symtab_add_section(struct symtab *tab, size_t *cap, uint64_t addr, uint64_t end, const char *name)
{
	struct symtab_section *s;

	tab->sections = array_grow(tab->sections, tab->n_sections, cap, sizeof *tab->sections);
	s = &tab->sections[tab->n_sections++];
	*s = (struct symtab_section){ .addr = addr, .end = end };
	snprintf(s->name, sizeof s->name, "%s", name);
}

/* A kernel that was read from memory has no section headers; these symbols of its linker script mark the sections. */
static void sections_from_marks(struct symtab *tab, size_t *cap, const struct symbol_list *list)
{
	static const struct { const char *start, *end, *name; } marks[] = {
		{ "_stext", "_etext", ".text" },
		{ "_sinittext", "_einittext", ".init.text" },
		{ "_einittext", "__x86_cpu_dev_start", ".altinstr_aux" },
	};

	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
		const struct raw_symbol *start = symbol_list_find(list, marks[i].start);
		const struct raw_symbol *end = symbol_list_find(list, marks[i].end);

		if (start && end && start->addr < end->addr)
			symtab_add_section(tab, cap, start->addr, end->addr, marks[i].name);
	}
}

uint16_t symtab_section_of(const struct symtab *tab, uint64_t addr)
{
	/* the first entry stands for "none" */
	for (size_t i = 1; i < tab->n_sections; i++)
		if (addr >= tab->sections[i].addr && addr < tab->sections[i].end)
			return (uint16_t)i;
	return 0;
}

static void set_ends(struct symtab *tab)
{
	for (size_t i = 0; i < tab->count; i++) {
		struct symbol *s = &tab->symbols[i];
		uint64_t limit = tab->sections[s->section].end;

		s->end = i + 1 < tab->count ? s[1].addr
					    : s->addr + (UINT64_MAX - s->addr < 4096 ? UINT64_MAX - s->addr : 4096);
		if (s->section && (s->end > limit || i + 1 == tab->count))
			s->end = limit;
	}
}

static size_t gather(const struct symbol_list *list, struct candidate *c)
{
	size_t n = 0;

	for (size_t i = 0; i < list->count; i++) {
		const struct raw_symbol *s = &list->symbols[i];
		const char *name = symbol_list_name(list, i);

		if (symbol_is_text(s->type) && !function_name_is_none(name))
			c[n++] = (struct candidate){ s->addr,    s->size, name, s->type, function_name_is_mark(name),
						     (uint32_t)i };
	}
	return n;
}

/*
 * Code that functions jump to until alternatives are patched (static_cpu_has()); it has no symbols. -1: there is none.
 */
static long find_aside(const struct symtab *tab)
{
	for (size_t i = 1; i < tab->n_sections; i++)
		if (!strcmp(tab->sections[i].name, ".altinstr_aux"))
			return (long)i;
	return -1;
}

static void add_function(struct symtab *tab, struct buf *names, uint64_t addr, uint16_t section, const char *symbol)
{
	struct function_name name = function_name_shown(symbol);

	tab->symbols[tab->count++] = (struct symbol){ .addr = addr, .name = (uint32_t)names->len, .section = section };
	buf_put(names, name.text, name.len);
	buf_put_u8(names, 0);
}

void symtab_from_image(struct symtab *ret, const struct kernel_image *image)
{
	struct candidate *c = xcalloc(image->symbols.count + 1, sizeof *c); /* and one more: find_aside() */
	struct symtab tab = { 0 };
	struct buf names = { 0 };
	size_t n = gather(&image->symbols, c), cap = 0;
	long aside;

	symtab_add_section(&tab, &cap, 0, UINT64_MAX, "");
	for (size_t i = 0; i < image->n_sections && tab.n_sections < UINT16_MAX; i++)
		symtab_add_section(&tab, &cap, image->sections[i].addr,
				   image->sections[i].addr + image->sections[i].size, image->sections[i].name);
	if (!image->n_sections)
		sections_from_marks(&tab, &cap, &image->symbols);
	aside = find_aside(&tab);
	if (aside >= 0 && n) /* where nothing has a name, neither has that */
		c[n++] = (struct candidate){ .addr = tab.sections[aside].addr, .name = ".altinstr_aux", .type = 't' };
	if (n)
		qsort(c, n, sizeof *c, compare);
	tab.symbols = xcalloc(n, sizeof *tab.symbols);
	for (size_t i = 0; i < n; i++) {
		uint16_t section = symtab_section_of(&tab, c[i].addr);

		if ((tab.count && tab.symbols[tab.count - 1].addr == c[i].addr) ||
		    (!section && tab.n_sections > 1))
			continue;
		add_function(&tab, &names, c[i].addr, section, c[i].name);
	}
	set_ends(&tab);
	symtab_index(&tab);
	tab.names = (char *)names.data;
	tab.names_len = names.len;
	free(c);
	*ret = tab;
}

static int by_address(const void *va, const void *vb)
{
	const struct symtab_function *a = va, *b = vb;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	if (a->local != b->local)
		return a->local ? 1 : -1;
	/* a library's own names for what its users call otherwise: __libc_malloc, _IO_printf, open64 */
	if ((*a->name == '_') != (*b->name == '_'))
		return *a->name == '_' ? 1 : -1;
	if (strlen(a->name) != strlen(b->name))
		return strlen(a->name) < strlen(b->name) ? -1 : 1;
	return strcmp(a->name, b->name);
}

static void put_name(struct buf *names, const char *name, char *(*rename)(const char *name))
{
	char *kept = rename ? rename(name) : NULL;
	const char *text = kept ? kept : name;

	buf_put(names, text, strlen(text) + 1);
	free(kept);
}

void symtab_put_functions(struct symtab *tab, struct symtab_function *list, size_t n, char *(*rename)(const char *name))
{
	struct buf names = { 0 };

	if (n)
		qsort(list, n, sizeof *list, by_address);
	tab->symbols = xcalloc(n, sizeof *tab->symbols);
	for (size_t i = 0; i < n; i++) {
		const struct symtab_function *f = &list[i], *next = f + 1;
		uint64_t limit = tab->sections[f->section].end;

		if (i && f->addr == f[-1].addr)
			continue;
		while (next < list + n && next->addr == f->addr)
			next++;
		if (next < list + n && next->addr < limit)
			limit = next->addr;
		tab->symbols[tab->count++] = (struct symbol){
			.addr = f->addr, .name = (uint32_t)names.len, .section = f->section,
			.end = f->size && f->size < limit - f->addr ? f->addr + f->size : limit,
		};
		put_name(&names, f->name, rename);
	}
	symtab_index(tab);
	tab->names = (char *)names.data;
	tab->names_len = names.len;
}

bool symtab_rename(struct symtab *tab, char *(*rename)(const char *name))
{
	struct buf names = { 0 };
	bool any = false;

	for (size_t i = 0; i < tab->count; i++) {
		uint32_t at = (uint32_t)names.len;

		put_name(&names, symtab_name(tab, (long)i), rename);
		any |= strcmp((char *)names.data + at, symtab_name(tab, (long)i)) != 0;
		tab->symbols[i].name = at;
	}
	free(tab->names);
	tab->names = (char *)names.data;
	tab->names_len = names.len;
	return any;
}

void symtab_deinit(struct symtab *tab)
{
	free(tab->symbols);
	free(tab->names);
	free(tab->sections);
	free(tab->pages);
	*tab = (struct symtab){ 0 };
}

enum { PAGE_BITS = 12 };

void symtab_index(struct symtab *tab)
{
	enum { FEW = 64, PER_FUNCTION = 4 }; /* functions that are found as fast without, and pages for each at most */
	const struct symbol *s = tab->symbols;
	uint64_t pages;

	if (tab->count < FEW)
		return;
	pages = ((s[tab->count - 1].end - s->addr) >> PAGE_BITS) + 2;
	if (pages > tab->count * PER_FUNCTION)
		return;
	tab->pages = xcalloc(pages, sizeof *tab->pages);
	for (size_t page = 0, i = 0; page < pages; page++) {
		while (i + 1 < tab->count && s[i + 1].addr - s->addr <= (uint64_t)page << PAGE_BITS)
			i++;
		tab->pages[page] = (uint32_t)i;
	}
}

long symtab_lookup(const struct symtab *tab, uint64_t addr)
{
	const struct symbol *s = tab->symbols;
	size_t left = tab->count;

	if (!left || addr < s->addr || addr >= s[left - 1].end)
		return SYMTAB_NONE;
	if (tab->pages) {
		const uint32_t *page = &tab->pages[(addr - s->addr) >> PAGE_BITS];

		s += page[0];
		left = page[1] - page[0] + 1;
	}
	/* written so that the compiler makes a conditional move, since the branch would be unpredictable */
	while (left > 1) {
		size_t half = left / 2;

		s = s[half].addr <= addr ? s + half : s;
		left -= half;
	}
	return addr < s->end ? s - tab->symbols : SYMTAB_NONE;
}

bool symtab_bounds(const void *symtab, uint64_t addr, uint64_t *ret_start, uint64_t *ret_end)
{
	const struct symtab *tab = symtab;
	long i = symtab_lookup(tab, addr);

	if (i == SYMTAB_NONE)
		return false;
	*ret_start = tab->symbols[i].addr;
	*ret_end = tab->symbols[i].end;
	return true;
}
