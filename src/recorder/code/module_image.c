/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "module_image.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "recorder/kernel/guest_address.h"
#include "recorder/kernel/structures.h"

enum {
	MOD_TEXT = 0, MOD_INIT_TEXT = 4, /* enum mod_mem_type, include/linux/module.h */
#ifdef UPTO_SMALL_TABLES /* as in trace/model.h */
	SYMBOLS_MAX = 1 << 8,
	STRINGS_MAX = 1 << 14,
	SECTIONS_MAX = 1 << 6,
#else
	SYMBOLS_MAX = 1 << 18,
	STRINGS_MAX = 16 << 20,
	SECTIONS_MAX = 1 << 12,
#endif
	INFO_MAX = 1 << 16,
	KSYM_LEN = 512,              /* KSYM_NAME_LEN, include/linux/kallsyms.h */
	TEXT_MAX = 64 << 20,
	KEPT_MAX = 64,               /* modules that are loaded at the same time */
	GUEST_PAGE = 4096,
};

/* Where the symbols of a module are in guest memory, and their names. */
struct symbol_table {
	uint64_t symbols, n, names;
};

void module_image_add(struct kernel_image *image, const char *name, uint64_t addr, uint64_t size)
{
	struct image_section *s;

	if (!addr || !size || size > TEXT_MAX || addr + size < addr)
		return;
	image->sections = xreallocarray(image->sections, image->n_sections + 1, sizeof *image->sections);
	s = &image->sections[image->n_sections++];
	*s = (struct image_section){ .addr = addr, .size = size };
	memcpy(s->name, name, strlen(name) + 1);
}

/* Symbols */

/* A kernel of 32 bits has modules of 32 bits. */
static void widen_symbols(struct buf *table)
{
	struct buf wide = { 0 };
	Elf32_Sym s;

	for (size_t at = 0; at + sizeof s <= table->len; at += sizeof s) {
		memcpy(&s, table->data + at, sizeof s);
		buf_put(&wide, &(Elf64_Sym){
			.st_name = s.st_name, .st_info = s.st_info, .st_other = s.st_other, .st_shndx = s.st_shndx,
			.st_value = guest_address(s.st_value), .st_size = s.st_size,
		}, sizeof(Elf64_Sym));
	}
	buf_free(table);
	*table = wide;
}

static bool in_sections(const struct kernel_image *image, uint64_t addr)
{
	for (size_t i = 0; i < image->n_sections; i++)
		if (addr - image->sections[i].addr < image->sections[i].size)
			return true;
	return false;
}

static uint64_t strings_end(const Elf64_Sym *symbols, uint64_t n)
{
	uint64_t end = 0;

	for (uint64_t i = 0; i < n; i++)
		if (symbols[i].st_name >= end)
			end = (uint64_t)symbols[i].st_name + KSYM_LEN;
	return end < STRINGS_MAX ? end : STRINGS_MAX;
}

/* Is it an alias of a function that has a name of its own? include/linux/module.h, module_init(). */
static bool is_alias(const char *name, size_t len)
{
	return (len == 11 && !memcmp(name, "init_module", len)) || (len == 14 && !memcmp(name, "cleanup_module", len));
}

static void find_symbols(struct vcpu *v, const struct symbol_table *t, struct kernel_image *image)
{
	uint64_t n = t->n < SYMBOLS_MAX ? t->n : SYMBOLS_MAX;
	struct buf table = { 0 }, strings = { 0 };
	const Elf64_Sym *s;

	structure_block(v, t->symbols, n * (guest_is_narrow() ? sizeof(Elf32_Sym) : sizeof *s), &table);
	if (guest_is_narrow())
		widen_symbols(&table);
	s = (const Elf64_Sym *)table.data;
	n = table.len / sizeof *s;
	structure_block(v, t->names, strings_end(s, n), &strings);
	for (uint64_t k = 0; k < 2 * n; k++) {
		uint64_t i = k % n;
		unsigned type = ELF64_ST_TYPE(s[i].st_info), binding = ELF64_ST_BIND(s[i].st_info);
		size_t left = s[i].st_name < strings.len ? strings.len - s[i].st_name : 0;
		const char *name = left ? (const char *)strings.data + s[i].st_name : "";
		size_t len = left ? strnlen(name, left < KSYM_LEN ? left : KSYM_LEN) : 0;

		/* of two at one address a global one counts, else the first; functions in assembler may have no type */
		if (len && *name != '.' && is_alias(name, len) == (k >= n) &&
		    (type == STT_FUNC || type == STT_NOTYPE) && in_sections(image, s[i].st_value))
			symbol_list_add(&image->symbols, s[i].st_value, s[i].st_size,
					binding == STB_LOCAL || k >= n ? 't' : 'T', name, len);
	}
	buf_free(&table);
	buf_free(&strings);
}

/* By the kernel's kallsyms of the module */

static bool kallsyms_known(void)
{
	return STRUCTURES_KNOWN(MODULE_NAME, MODULE_KALLSYMS, KALLSYMS_SYMTAB, KALLSYMS_NUM_SYMTAB, KALLSYMS_STRTAB);
}

static void find_sections(struct vcpu *v, uint64_t module, struct kernel_image *image)
{
	static const struct { const char *name; unsigned type; enum member layout; } texts[] = {
		{ ".text", MOD_TEXT, MODULE_CORE_LAYOUT }, { ".init.text", MOD_INIT_TEXT, MODULE_INIT_LAYOUT },
	};
	const struct layout *l = &recorder.kernel.layout;

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		if (structure_at(MODULE_MEM) != MEMBER_UNKNOWN) {
			uint64_t memory = module + (uint64_t)structure_at(MODULE_MEM) +
					  texts[i].type * l->size[SIZE_MODULE_MEMORY];

			module_image_add(image, texts[i].name, structure_pointer(v, memory, MEMORY_BASE),
					 structure_read(v, memory, MEMORY_SIZE, 4));
		} else if (structure_at(texts[i].layout) != MEMBER_UNKNOWN) {
			uint64_t layout = module + (uint64_t)structure_at(texts[i].layout);

			module_image_add(image, texts[i].name, structure_pointer(v, layout, LAYOUT_BASE),
					 structure_read(v, layout, LAYOUT_TEXT_SIZE, 4));
		}
	}
}

static bool read_kallsyms(struct vcpu *v, uint64_t module, char name[MODULE_NAME_LEN + 1], struct kernel_image *ret)
{
	uint64_t kallsyms = structure_pointer(v, module, MODULE_KALLSYMS);

	memset(name, 0, MODULE_NAME_LEN + 1);
	if (!guest_read(&v->regs, module + (uint64_t)structure_at(MODULE_NAME), name, MODULE_NAME_LEN))
		return false;
	find_sections(v, module, ret);
	find_symbols(v, &(struct symbol_table){
		.symbols = structure_pointer(v, kallsyms, KALLSYMS_SYMTAB),
		.n = structure_read(v, kallsyms, KALLSYMS_NUM_SYMTAB, 4),
		.names = structure_pointer(v, kallsyms, KALLSYMS_STRTAB),
	}, ret);
	return true;
}

/* By the module's file */

static struct {
	pthread_mutex_t lock;
	struct kept {
		uint64_t module; /* address of its struct module; 0: free */
		char name[MODULE_NAME_LEN + 1];
		struct kernel_image image;
	} list[KEPT_MAX];
	size_t next; /* to be used, whether it is free or not */
} kept = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The module's sections' headers, from number 0 on. Returns false if they cannot be read. */
static bool read_headers(struct vcpu *v, uint64_t file, uint64_t sections, struct buf *headers, size_t *ret_names)
{
	Elf64_Ehdr wide;
	Elf32_Ehdr narrow;
	bool is_narrow = guest_is_narrow(), read;
	size_t n;

	read = is_narrow ? guest_read(&v->regs, file, &narrow, sizeof narrow)
			 : guest_read(&v->regs, file, &wide, sizeof wide);
	if (!read || memcmp(is_narrow ? narrow.e_ident : wide.e_ident, ELFMAG, SELFMAG))
		return false;
	n = is_narrow ? narrow.e_shnum : wide.e_shnum;
	*ret_names = is_narrow ? narrow.e_shstrndx : wide.e_shstrndx;
	if (n > SECTIONS_MAX)
		n = SECTIONS_MAX;
	structure_block(v, sections, n * (is_narrow ? sizeof(Elf32_Shdr) : sizeof(Elf64_Shdr)), headers);
	return true;
}

static void widen_headers(struct buf *headers)
{
	struct buf wide = { 0 };
	Elf32_Shdr h;

	for (size_t at = 0; at + sizeof h <= headers->len; at += sizeof h) {
		memcpy(&h, headers->data + at, sizeof h);
		buf_put(&wide, &(Elf64_Shdr){
			.sh_name = h.sh_name, .sh_type = h.sh_type, .sh_flags = h.sh_flags,
			.sh_addr = guest_address(h.sh_addr),
			.sh_size = h.sh_size, .sh_link = h.sh_link, .sh_addralign = h.sh_addralign,
		}, sizeof(Elf64_Shdr));
	}
	buf_free(headers);
	*headers = wide;
}

static int by_address(const void *va, const void *vb)
{
	const struct image_section *a = va, *b = vb;

	return (a->addr > b->addr) - (a->addr < b->addr);
}

/* Sections that the kernel put into one piece of memory are one: it frees them together, by where the first begins. */
static void join_sections(struct kernel_image *image)
{
	size_t kept_count = 0;

	if (image->n_sections)
		qsort(image->sections, image->n_sections, sizeof *image->sections, by_address);
	for (size_t i = 0; i < image->n_sections; i++) {
		const struct image_section *s = &image->sections[i];
		struct image_section *last = kept_count ? &image->sections[kept_count - 1] : NULL;

		if (last && s->addr % GUEST_PAGE && s->addr - (last->addr + last->size) < GUEST_PAGE)
			last->size = s->addr + s->size - last->addr;
		else
			image->sections[kept_count++] = *s;
	}
	image->n_sections = kept_count;
}

static void add_code(struct vcpu *v, uint64_t names, const Elf64_Shdr *h, struct kernel_image *image)
{
	char name[16];

	structure_text(v, names + h->sh_name, name, sizeof name);
	module_image_add(image, strncmp(name, ".init", 5) ? ".text" : ".init.text", h->sh_addr, h->sh_size);
}

/* "name=ext4": modpost puts it there. */
static void read_name(struct vcpu *v, const Elf64_Shdr *info, char name[MODULE_NAME_LEN + 1])
{
	static const char key[] = "name=";
	struct buf text = { 0 };

	structure_block(v, info->sh_addr, info->sh_size < INFO_MAX ? info->sh_size : INFO_MAX, &text);
	buf_put_u8(&text, 0);
	for (size_t at = 0; at < text.len; at += strlen((char *)text.data + at) + 1) {
		const char *value = (char *)text.data + at + strlen(key);
		size_t len;

		if (strncmp((char *)text.data + at, key, strlen(key)))
			continue;
		len = strnlen(value, MODULE_NAME_LEN);
		memcpy(name, value, len);
		name[len] = '\0';
		break;
	}
	buf_free(&text);
}

static void read_sections(struct vcpu *v, const Elf64_Shdr *list, size_t n, uint64_t names, struct kept *ret)
{
	struct symbol_table t = { 0 };

	for (size_t i = 1; i < n; i++) {
		char name[sizeof ".modinfo"];

		if (list[i].sh_flags & SHF_ALLOC && list[i].sh_flags & SHF_EXECINSTR)
			add_code(v, names, &list[i], &ret->image);
		if (list[i].sh_type == SHT_SYMTAB && list[i].sh_link < n)
			t = (struct symbol_table){
				.symbols = list[i].sh_addr, .names = list[list[i].sh_link].sh_addr,
				.n = list[i].sh_size / (guest_is_narrow() ? sizeof(Elf32_Sym) : sizeof(Elf64_Sym)),
			};
		if (!strcmp(structure_text(v, names + list[i].sh_name, name, sizeof name), ".modinfo"))
			read_name(v, &list[i], ret->name);
	}
	join_sections(&ret->image);
	find_symbols(v, &t, &ret->image);
}

/* An entry for the module, where another one may have been before. With the lock. */
static struct kept *entry_of(uint64_t module)
{
	struct kept *k = NULL;

	for (size_t i = 0; i < KEPT_MAX && !k; i++)
		if (kept.list[i].module == module)
			k = &kept.list[i];
	if (!k)
		k = &kept.list[kept.next++ % KEPT_MAX];
	kernel_image_deinit(&k->image);
	*k = (struct kept){ .module = module };
	return k;
}

void module_image_keep(struct vcpu *v, uint64_t file, uint64_t sections, uint64_t module)
{
	struct kept new = { .module = module };
	struct buf headers = { 0 };
	size_t n, names;

	if (!module || kallsyms_known() || !read_headers(v, file, sections, &headers, &names))
		return;
	if (guest_is_narrow())
		widen_headers(&headers);
	n = headers.len / sizeof(Elf64_Shdr);
	if (names < n) {
		const Elf64_Shdr *list = (const Elf64_Shdr *)headers.data;

		read_sections(v, list, n, list[names].sh_addr, &new);
	}
	buf_free(&headers);
	pthread_mutex_lock(&kept.lock);
	*entry_of(module) = new;
	pthread_mutex_unlock(&kept.lock);
}

static bool take_kept(uint64_t module, char name[MODULE_NAME_LEN + 1], struct kernel_image *ret)
{
	bool found = false;

	pthread_mutex_lock(&kept.lock);
	for (size_t i = 0; i < KEPT_MAX && !found; i++)
		if (kept.list[i].module == module) {
			memcpy(name, kept.list[i].name, sizeof kept.list[i].name);
			*ret = kept.list[i].image;
			kept.list[i] = (struct kept){ 0 };
			found = true;
		}
	pthread_mutex_unlock(&kept.lock);
	return found;
}

bool module_image_read(struct vcpu *v, uint64_t module, char name[MODULE_NAME_LEN + 1], struct kernel_image *ret)
{
	*ret = (struct kernel_image){ 0 };
	if (!module)
		return false;
	return kallsyms_known() ? read_kallsyms(v, module, name, ret) : take_kept(module, name, ret);
}

void module_image_forget(void)
{
	pthread_mutex_lock(&kept.lock);
	for (size_t i = 0; i < KEPT_MAX; i++) {
		kernel_image_deinit(&kept.list[i].image);
		kept.list[i] = (struct kept){ 0 };
	}
	pthread_mutex_unlock(&kept.lock);
}
