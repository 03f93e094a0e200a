/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel_image.h"

#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/file.h"
#include "bzimage.h"
#include "kallsyms.h"
#include "system_map.h"

enum {
	FILE_LIMIT = 1 << 30,
	BANNER_MAX = 512,
};

static void add_section(struct kernel_image *image, size_t *cap, const char *name, const GElf_Shdr *sh)
{
	struct image_section *s;

	image->sections = array_grow(image->sections, image->n_sections, cap, sizeof *image->sections);
	s = &image->sections[image->n_sections++];
	*s = (struct image_section){ .addr = sh->sh_addr, .size = sh->sh_size,
				     .writable = sh->sh_flags & SHF_WRITE };
	snprintf(s->name, sizeof s->name, "%s", name);
}

static char symbol_type(const GElf_Sym *sym)
{
	char type = GELF_ST_TYPE(sym->st_info) == STT_FUNC ? 't' : 'd';

	if (GELF_ST_TYPE(sym->st_info) == STT_NOTYPE)
		type = 't';
	return GELF_ST_BIND(sym->st_info) == STB_LOCAL ? type : (char)(type - 'a' + 'A');
}

static void add_symtab(struct kernel_image *image, Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t n = data && sh->sh_entsize ? sh->sh_size / sh->sh_entsize : 0;

	for (size_t i = 0; i < n && i < INT32_MAX; i++) {
		const char *name;
		GElf_Sym sym;

		if (!gelf_getsym(data, (int)i, &sym))
			break;
		if (sym.st_shndx == SHN_UNDEF || GELF_ST_TYPE(sym.st_info) > STT_FUNC)
			continue;
		name = elf_strptr(elf, sh->sh_link, sym.st_name);
		if (name && *name)
			symbol_list_add(&image->symbols, sym.st_value, sym.st_size, symbol_type(&sym), name,
					strlen(name));
	}
}

static void add_btf(struct kernel_image *image, Elf_Scn *scn)
{
	Elf_Data *data = elf_getdata(scn, NULL);

	image->btf.len = 0;
	if (data && data->d_buf)
		buf_put(&image->btf, data->d_buf, data->d_size);
}

static void read_sections(struct kernel_image *image, Elf *elf)
{
	size_t names = 0, cap = 0;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr sh;
		const char *name;

		if (!gelf_getshdr(scn, &sh))
			continue;
		name = elf_strptr(elf, names, sh.sh_name);
		if (name && sh.sh_flags & SHF_EXECINSTR && sh.sh_flags & SHF_ALLOC && sh.sh_size)
			add_section(image, &cap, name, &sh);
		if (name && !strcmp(name, ".BTF"))
			add_btf(image, scn);
		if (sh.sh_type == SHT_SYMTAB)
			add_symtab(image, elf, scn, &sh);
	}
}

/* The bytes of segment number i that are in the file; NULL if it is no loadable segment. */
static const char *segment(Elf *elf, const struct buf *file, size_t i, uint64_t *ret_addr, size_t *ret_len)
{
	GElf_Phdr ph;

	if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_LOAD || ph.p_offset >= file->len)
		return NULL;
	*ret_addr = ph.p_vaddr;
	*ret_len = ph.p_filesz < file->len - ph.p_offset ? ph.p_filesz : file->len - ph.p_offset;
	return (const char *)file->data + ph.p_offset;
}

static size_t count_segments(Elf *elf)
{
	size_t n = 0;

	return elf_getphdrnum(elf, &n) < 0 || n > INT32_MAX ? 0 : n;
}

/* The bytes at a link address, and how many there are; NULL if the file has none for the address. */
static const char *bytes_at(Elf *elf, const struct buf *file, uint64_t addr, size_t *ret_len)
{
	for (size_t i = 0; i < count_segments(elf); i++) {
		uint64_t start;
		size_t len;
		const char *data = segment(elf, file, i, &start, &len);

		if (!data || addr < start || addr - start >= len)
			continue;
		*ret_len = len - (addr - start);
		return data + (addr - start);
	}
	return NULL;
}

static int read_kallsyms(struct kernel_image *image, Elf *elf, const struct buf *file, struct error *err)
{
	error_set(err, "no segments to load");
	for (size_t i = 0; i < count_segments(elf); i++) {
		uint64_t start;
		size_t len;
		const char *data = segment(elf, file, i, &start, &len);

		if (data && kallsyms_read(data, len, start, &image->symbols, err) == 0)
			return 0;
	}
	return -1;
}

static void read_banner(struct kernel_image *image, Elf *elf, const struct buf *file)
{
	const struct raw_symbol *sym = symbol_list_find(&image->symbols, "linux_banner");
	const char *text;
	size_t len;

	if (!sym)
		return;
	text = bytes_at(elf, file, sym->addr, &len);
	if (!text || len < 14 || memcmp(text, "Linux version ", 14))
		return;
	image->banner = xstrndup(text, strnlen(text, len < BANNER_MAX ? len : BANNER_MAX));
	image->banner_addr = sym->addr;
}

static bool between_marks(const struct kernel_image *image, const struct image_section *s, const char *from, const char *to)
{
	const struct raw_symbol *start = symbol_list_find(&image->symbols, from);
	const struct raw_symbol *end = symbol_list_find(&image->symbols, to);

	return start && end && s->addr < end->addr && s->addr + s->size > start->addr;
}

/*
 * Kernels since 6.15 flag .data as executable, so kallsyms lists the data in it as functions. Symbols of the linker
 * script tell where the code really is.
 */
static void drop_data_sections(struct kernel_image *image)
{
	size_t kept = 0;

	if (!symbol_list_find(&image->symbols, "_stext") || !symbol_list_find(&image->symbols, "_etext"))
		return;
	for (size_t i = 0; i < image->n_sections; i++) {
		const struct image_section *s = &image->sections[i];

		if (!s->writable || between_marks(image, s, "_stext", "_etext") ||
		    between_marks(image, s, "_sinittext", "_einittext"))
			image->sections[kept++] = *s;
	}
	image->n_sections = kept;
}

static int parse_elf(const struct buf *file, struct kernel_image *image, struct error *err)
{
	Elf *elf;
	int r = 0;

	elf_version(EV_CURRENT);
	elf = elf_memory((char *)file->data, file->len);
	if (!elf || elf_kind(elf) != ELF_K_ELF) {
		elf_end(elf);
		return error_set(err, "damaged ELF file: %s", elf_errmsg(-1));
	}
	read_sections(image, elf);
	if (!image->symbols.count)
		r = read_kallsyms(image, elf, file, err);
	if (r == 0) {
		drop_data_sections(image);
		read_banner(image, elf, file);
	}
	elf_end(elf);
	return r;
}

int kernel_image_parse(const void *data, size_t len, struct kernel_image *ret, struct error *err)
{
	struct kernel_image image = { 0 };
	struct buf file = { .data = (uint8_t *)data, .len = len }, unpacked = { 0 };
	int r;

	if (bzimage_is(data, len)) {
		r = bzimage_unpack(data, len, &unpacked, err);
		if (r == 0)
			r = parse_elf(&unpacked, &image, err);
	} else if (len >= 4 && !memcmp(data, "\177ELF", 4)) {
		r = parse_elf(&file, &image, err);
	} else {
		r = system_map_read(data, len, &image.symbols, err);
	}
	buf_free(&unpacked);
	if (r < 0)
		kernel_image_deinit(&image);
	else
		*ret = image;
	return r;
}

int kernel_image_load(const char *path, struct kernel_image *ret, struct error *err)
{
	struct buf file = { 0 };
	int r;

	if (file_read(path, FILE_LIMIT, &file, err) < 0)
		return -1;
	r = kernel_image_parse(file.data, file.len, ret, err);
	buf_free(&file);
	return r < 0 ? error_prefix(err, "%s", path) : 0;
}

void kernel_image_deinit(struct kernel_image *image)
{
	symbol_list_free(&image->symbols);
	free(image->sections);
	free(image->banner);
	buf_free(&image->btf);
	*image = (struct kernel_image){ 0 };
}
