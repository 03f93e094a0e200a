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
#include "kernel_marks.h"
#include "system_map.h"

enum {
	FILE_LIMIT = 2047 << 20, /* debug information of all modules together is that large */
	/* headers may lie over each other, so that a small file would have more than any memory */
	SEGMENTS_MAX = 64,
	SYMBOLS_MAX = 1 << 23,
	NAME_LENGTH_MAX = 512, /* KSYM_NAME_LEN */
};

static void add_section(struct kernel_image *image, size_t *cap, const char *name, const GElf_Shdr *sh)
{
	struct image_section *s;

	image->sections = array_grow(image->sections, image->n_sections, cap, sizeof *image->sections);
	s = &image->sections[image->n_sections++];
	*s = (struct image_section){ .addr = narrow_extend(&image->narrow, sh->sh_addr), .size = sh->sh_size,
				     .writable = sh->sh_flags & SHF_WRITE };
	snprintf(s->name, sizeof s->name, "%s", name);
}

/* `room`: bytes that the file has: sections that lie over each other would take more. */
static void add_code(struct kernel_image *image, Elf_Scn *scn, const GElf_Shdr *sh, size_t *room)
{
	Elf_Data *data = sh->sh_type == SHT_NOBITS ? NULL : elf_rawdata(scn, NULL);

	if (!data || !data->d_buf || data->d_size > *room)
		return;
	*room -= data->d_size;
	image->code = xreallocarray(image->code, image->n_code + 1, sizeof *image->code);
	image->code[image->n_code] = (struct image_code){ .addr = narrow_extend(&image->narrow, sh->sh_addr) };
	buf_put(&image->code[image->n_code++].bytes, data->d_buf, data->d_size);
}

static bool is_code(Elf *elf, const GElf_Sym *sym)
{
	Elf_Scn *scn = sym->st_shndx < SHN_LORESERVE ? elf_getscn(elf, sym->st_shndx) : NULL;
	GElf_Shdr sh;

	return scn && gelf_getshdr(scn, &sh) && sh.sh_flags & SHF_EXECINSTR;
}

/* What assembly and the linker's script define has no type: __start_ftrace_events is data, memcpy_orig is not. */
static char symbol_type(Elf *elf, const GElf_Sym *sym)
{
	char type = GELF_ST_TYPE(sym->st_info) == STT_FUNC ? 't' : 'd';

	if (GELF_ST_TYPE(sym->st_info) == STT_NOTYPE && is_code(elf, sym))
		type = 't';
	return GELF_ST_BIND(sym->st_info) == STB_LOCAL ? type : (char)(type - 'a' + 'A');
}

static void add_symtab(struct kernel_image *image, Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t n = data && sh->sh_entsize ? sh->sh_size / sh->sh_entsize : 0;

	for (size_t i = 0; i < n && i < SYMBOLS_MAX && image->symbols.count < SYMBOLS_MAX; i++) {
		const char *name;
		GElf_Sym sym;

		if (!gelf_getsym(data, (int)i, &sym))
			break;
		if (sym.st_shndx == SHN_UNDEF || GELF_ST_TYPE(sym.st_info) > STT_FUNC)
			continue;
		name = elf_strptr(elf, sh->sh_link, sym.st_name);
		if (name && *name)
			symbol_list_add(&image->symbols, narrow_extend(&image->narrow, sym.st_value), sym.st_size,
					symbol_type(elf, &sym), name, strnlen(name, NAME_LENGTH_MAX));
	}
}

static void add_btf(struct kernel_image *image, Elf_Scn *scn)
{
	Elf_Data *data = elf_getdata(scn, NULL);

	image->btf.len = 0;
	if (data && data->d_buf)
		buf_put(&image->btf, data->d_buf, data->d_size);
}

static void read_sections(struct kernel_image *image, Elf *elf, size_t bytes)
{
	size_t names = 0, cap = 0, room = bytes;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr sh;
		const char *name;

		if (!gelf_getshdr(scn, &sh))
			continue;
		name = elf_strptr(elf, names, sh.sh_name);
		if (name && sh.sh_flags & SHF_EXECINSTR && sh.sh_flags & SHF_ALLOC && sh.sh_size) {
			add_section(image, &cap, name, &sh);
			add_code(image, scn, &sh, &room);
		}
		if (name && !strcmp(name, ".BTF"))
			add_btf(image, scn);
		if (sh.sh_type == SHT_SYMTAB)
			add_symtab(image, elf, scn, &sh);
	}
}

static size_t count_segments(Elf *elf)
{
	size_t n = 0;

	return elf_getphdrnum(elf, &n) < 0 ? 0 : n < SEGMENTS_MAX ? n : SEGMENTS_MAX;
}

/* A kernel of 32 bits is loaded at its addresses less PAGE_OFFSET. */
static void read_width(struct kernel_image *image, Elf *elf)
{
	GElf_Phdr ph;

	if (gelf_getclass(elf) != ELFCLASS32)
		return;
	for (int i = 0; i < (int)count_segments(elf); i++)
		if (gelf_getphdr(elf, i, &ph) && ph.p_type == PT_LOAD && ph.p_vaddr > ph.p_paddr) {
			image->narrow = narrow_from(ph.p_vaddr - ph.p_paddr);
			break;
		}
}

/* The bytes of segment number i that are in the file; NULL if it is no loadable segment. */
static const char *segment(const struct kernel_image *image, Elf *elf, const struct buf *file, size_t i,
			   uint64_t *ret_addr, size_t *ret_len)
{
	GElf_Phdr ph;

	if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_LOAD || ph.p_offset >= file->len)
		return NULL;
	*ret_addr = narrow_extend(&image->narrow, ph.p_vaddr);
	*ret_len = ph.p_filesz < file->len - ph.p_offset ? ph.p_filesz : file->len - ph.p_offset;
	return (const char *)file->data + ph.p_offset;
}

/*
 * A kernel is linked with a banner that does not have the build's number yet ("# SMP"), which nothing shows, and with
 * the one that has.
 */
static bool has_number(const char *banner)
{
	const char *number = strchr(banner, '#');

	return number && number[1] >= '0' && number[1] <= '9';
}

static void note_banners(struct kernel_image *image, const char *data, size_t len, uint64_t start)
{
	size_t at, n, from = 0;

	while (image->n_banners < BANNER_COPIES && marks_banner(data + from, len - from, &at, &n)) {
		if (!image->banner || (!has_number(image->banner) && has_number(data + from + at))) {
			free(image->banner);
			image->banner = xstrndup(data + from + at, n);
			image->n_banners = 0;
		}
		if (!strncmp(image->banner, data + from + at, n + 1))
			image->banner_addrs[image->n_banners++] = start + from + at;
		from += at + n;
	}
}

/* What shows without symbols in the bytes that are at `start`. */
static void note_marks(struct kernel_image *image, const char *data, size_t len, uint64_t start)
{
	size_t at;

	note_banners(image, data, len, start);
	if (!image->switch_addr && marks_task_switch(data, len, image->narrow.size, &at))
		image->switch_addr = start + at;
	if (!image->first_task.comm && !image->btf.len && !image->narrow.size)
		marks_first_task(data, len, start, &image->first_task);
}

static void read_segments(struct kernel_image *image, Elf *elf, const struct buf *file)
{
	bool names = image->symbols.count;

	for (size_t i = 0; i < count_segments(elf); i++) {
		uint64_t start;
		size_t len;
		const char *data = segment(image, elf, file, i, &start, &len);

		if (!data)
			continue;
		note_marks(image, data, len, start);
		names = names ||
			kallsyms_read(data, len, start, image->narrow.size, &image->symbols, &image->no_names) == 0;
	}
}

static bool between_marks(const struct kernel_image *image, const struct image_section *s, const char *from,
			  const char *to)
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

	elf_version(EV_CURRENT);
	elf = elf_memory((char *)file->data, file->len);
	if (!elf || elf_kind(elf) != ELF_K_ELF) {
		elf_end(elf);
		return error_set(err, "damaged ELF file: %s", elf_errmsg(-1));
	}
	error_set(&image->no_names, "no segments to load");
	read_width(image, elf);
	read_sections(image, elf, file->len);
	read_segments(image, elf, file);
	drop_data_sections(image);
	elf_end(elf);
	build_id_of(file->data, file->len, &image->build_id);
	return 0;
}

/* In a map of 32 bits addresses are not extended. Its kernel's code is from PAGE_OFFSET on. */
static void extend_map(struct kernel_image *image)
{
	const struct raw_symbol *text = symbol_list_find(&image->symbols, "_text");

	if (!text || text->addr > UINT32_MAX || !narrow_page_offset(text->addr))
		return;
	image->narrow = narrow_from(narrow_page_offset(text->addr));
	for (size_t i = 0; i < image->symbols.count; i++)
		image->symbols.symbols[i].addr = narrow_extend(&image->narrow, image->symbols.symbols[i].addr);
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
		extend_map(&image);
	}
	buf_free(&unpacked);
	if (r < 0)
		kernel_image_deinit(&image);
	else
		*ret = image;
	return r;
}

void kernel_image_from_memory(const void *data, size_t len, uint64_t addr, const struct narrow *narrow,
			      struct kernel_image *ret)
{
	size_t at, n;

	*ret = (struct kernel_image){ .narrow = *narrow };
	note_marks(ret, data, len, addr);
	if (marks_btf(data, len, &at, &n))
		buf_put(&ret->btf, (const char *)data + at, n);
	if (kallsyms_read(data, len, addr, narrow->size, &ret->symbols, &ret->no_names) < 0)
		symbol_list_free(&ret->symbols);
}

static bool has_functions(const struct symbol_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		if (symbol_is_text(list->symbols[i].type))
			return true;
	return false;
}

static void add_symbols(struct symbol_list *to, const struct symbol_list *from)
{
	bool named = has_functions(to);

	for (size_t i = 0; i < from->count; i++) {
		const struct raw_symbol *s = &from->symbols[i];
		const char *name = symbol_list_name(from, i);

		if (!named || !symbol_is_text(s->type))
			symbol_list_add(to, s->addr, s->size, s->type, name, strlen(name));
	}
}

void kernel_image_add(struct kernel_image *image, struct kernel_image *other)
{
	add_symbols(&image->symbols, &other->symbols);
	if (!image->n_sections) {
		free(image->sections);
		image->sections = other->sections;
		image->n_sections = other->n_sections;
		other->sections = NULL;
	}
	if (!image->n_code) {
		image->code = other->code;
		image->n_code = other->n_code;
		other->code = NULL;
		other->n_code = 0;
	}
	if (!image->btf.len) {
		buf_free(&image->btf);
		image->btf = other->btf;
		other->btf = (struct buf){ 0 };
	}
	if (!image->build_id.len)
		image->build_id = other->build_id;
	if (!image->banner && other->banner) {
		image->banner = other->banner;
		memcpy(image->banner_addrs, other->banner_addrs, sizeof image->banner_addrs);
		image->n_banners = other->n_banners;
		other->banner = NULL;
	}
	if (!image->first_task.comm)
		image->first_task = other->first_task;
	if (!image->switch_addr)
		image->switch_addr = other->switch_addr;
	if (!image->narrow.size)
		image->narrow = other->narrow;
	kernel_image_deinit(other);
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

void kernel_image_drop_code(struct kernel_image *image)
{
	for (size_t i = 0; i < image->n_code; i++)
		buf_free(&image->code[i].bytes);
	free(image->code);
	image->code = NULL;
	image->n_code = 0;
}

void kernel_image_deinit(struct kernel_image *image)
{
	kernel_image_drop_code(image);
	symbol_list_free(&image->symbols);
	free(image->sections);
	free(image->banner);
	buf_free(&image->btf);
	*image = (struct kernel_image){ 0 };
}
