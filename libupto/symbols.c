/* SPDX-License-Identifier: MIT */
/* Functions by their names, from the ELF files of the program and of its libraries: static ones, too. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "ring.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct walk {
	int (*each)(void *context, const char *name, uint64_t address);
	void *context;
};

struct image {
	const char *data;
	size_t bytes;
};

/* So many bytes at that place of the file; NULL: they are not there. */
static const void *at(const struct image *f, uint64_t offset, uint64_t bytes)
{
	return offset <= f->bytes && bytes <= f->bytes - offset ? f->data + offset : NULL;
}

static const ElfW(Shdr) * section(const struct image *f, const ElfW(Ehdr) * header, unsigned i)
{
	return i < header->e_shnum && header->e_shentsize == sizeof(ElfW(Shdr))
		       ? at(f, header->e_shoff + (uint64_t)i * sizeof(ElfW(Shdr)), sizeof(ElfW(Shdr)))
		       : NULL;
}

static int each_of_table(const struct walk *w, const struct image *f, const ElfW(Shdr) * table,
			 const ElfW(Shdr) * names, uint64_t base)
{
	uint64_t count = table->sh_size / sizeof(ElfW(Sym));
	const ElfW(Sym) *symbols = at(f, table->sh_offset, count * sizeof *symbols);
	const char *text = at(f, names->sh_offset, names->sh_size);

	if (!symbols || !text || !names->sh_size || text[names->sh_size - 1])
		return 1;
	for (uint64_t i = 0; i < count; i++) {
		const ElfW(Sym) *s = &symbols[i];

		if ((s->st_info & 15) == STT_FUNC && s->st_shndx && s->st_name < names->sh_size &&
		    !w->each(w->context, text + s->st_name, base + s->st_value))
			return 0;
	}
	return 1;
}

/* The table of all functions; in a file without, that of those which others can call. */
static int each_of_file(const struct walk *w, const struct image *f, uint64_t base)
{
	const ElfW(Ehdr) *header = at(f, 0, sizeof *header);
	const ElfW(Shdr) *best = NULL, *s, *names;

	if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG))
		return 1;
	for (unsigned i = 0; (s = section(f, header, i)); i++)
		if (s->sh_type == SHT_SYMTAB || (s->sh_type == SHT_DYNSYM && !best))
			best = s;
	names = best ? section(f, header, best->sh_link) : NULL;
	return names ? each_of_table(w, f, best, names, base) : 1;
}

static int each_module(struct dl_phdr_info *info, size_t size, void *data)
{
	const char *path = info->dlpi_name && *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
	int fd = open(path, O_RDONLY | O_CLOEXEC), goes_on = 1;
	struct image f = { 0 };
	struct stat st;

	(void)size;
	if (fd < 0)
		return 0;
	if (fstat(fd, &st) == 0 && st.st_size > 0) {
		f.bytes = (size_t)st.st_size;
		f.data = mmap(NULL, f.bytes, PROT_READ, MAP_PRIVATE, fd, 0);
		if (f.data != MAP_FAILED) {
			goes_on = each_of_file(data, &f, info->dlpi_addr);
			munmap((void *)f.data, f.bytes);
		}
	}
	close(fd);
	return !goes_on;
}

static int each_of_program(struct dl_phdr_info *info, size_t size, void *data)
{
	return each_module(info, size, data) ? 1 : -1; /* the program's own file is the first one */
}

static int is_other(void *wanted, const char *name, uint64_t address)
{
	(void)address;
	return strcmp(wanted, name);
}

int symbols_program_has(const char *function)
{
	struct walk w = { is_other, (void *)(uintptr_t)function };

	return dl_iterate_phdr(each_of_program, &w) > 0;
}

void symbols_each(int (*each)(void *context, const char *name, uint64_t address), void *context)
{
	struct walk w = { each, context };

	dl_iterate_phdr(each_module, &w);
}
