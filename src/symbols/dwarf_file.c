/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "dwarf_unit.h"

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address, /* a module's sections are laid out one after the other */
};

/* As the kernel has it: the file's name, with '_' for '-'. */
static char *module_name(const char *path)
{
	const char *base = strrchr(path, '/');
	char *name = xstrdup(base ? base + 1 : path);

	name[strcspn(name, ".")] = '\0';
	for (char *c = name; *c; c++)
		if (*c == '-')
			*c = '_';
	return name;
}

static void find_kind(struct dwarf_file *f)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(f->module, &bias);
	GElf_Ehdr header;
	uint64_t addr;

	f->kind = DWARF_PROGRAM;
	if (elf && gelf_getehdr(elf, &header) && header.e_type == ET_REL) {
		f->kind = DWARF_MODULE;
		f->module_name = module_name(f->path);
	} else if (dwarf_file_symbol(f, "start_kernel", &addr)) {
		f->kind = DWARF_KERNEL;
	}
}

static int load(struct dwarf_file *f, struct error *err)
{
	struct stat st;

	if (stat(f->path, &st) == 0 && !S_ISREG(st.st_mode))
		return error_set(err, "%s: not a regular file", f->path);
	f->dwfl = dwfl_begin(&callbacks);
	f->module = f->dwfl ? dwfl_report_offline(f->dwfl, f->path, f->path, -1) : NULL;
	if (!f->module || dwfl_report_end(f->dwfl, NULL, NULL) != 0)
		return error_set(err, "%s: %s", f->path, dwfl_errmsg(-1));
	f->dwarf = dwfl_module_getdwarf(f->module, &f->bias);
	f->units = dwarf_units_new(f->module);
	find_kind(f);
	return f->kind == DWARF_PROGRAM ? 0 : dwarf_file_require(f, err);
}

int dwarf_file_require(const struct dwarf_file *f, struct error *err)
{
	if (f->dwarf)
		return 0;
	return error_set(err, "%s: has no debug information, and no debug file of its build-id was found", f->path);
}

bool dwarf_file_is_narrow(const struct dwarf_file *f)
{
	GElf_Addr bias;

	return gelf_getclass(dwfl_module_getelf(f->module, &bias)) == ELFCLASS32;
}

int dwarf_file_open(const char *path, struct dwarf_file **ret, struct error *err)
{
	struct dwarf_file *f = xcalloc(1, sizeof *f);

	f->path = xstrdup(path);
	if (load(f, err) < 0) {
		dwarf_file_close(f);
		return -1;
	}
	*ret = f;
	return 0;
}

void dwarf_file_close(struct dwarf_file *f)
{
	if (!f)
		return;
	dwarf_units_free(f->units);
	if (f->dwfl)
		dwfl_end(f->dwfl);
	free(f->module_name);
	free(f->path);
	free(f);
}

/* The next section with code. */
static Elf_Scn *next_code(Elf *elf, Elf_Scn *section, GElf_Shdr *ret)
{
	while (elf && (section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, ret) && ret->sh_type == SHT_PROGBITS && ret->sh_flags & SHF_EXECINSTR)
			return section;
	return NULL;
}

size_t dwarf_file_code(const struct dwarf_file *f, uint64_t addr, uint64_t *ret_offset, void *code, size_t size)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(f->module, &bias);
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = next_code(elf, section, &header))) {
		uint64_t at = addr - bias - header.sh_addr;
		Elf_Data *data;

		if (addr - bias < header.sh_addr || at >= header.sh_size)
			continue;
		data = elf_rawdata(section, NULL);
		if (!data || !data->d_buf || at >= data->d_size)
			return 0;
		size = data->d_size - at < size ? data->d_size - at : size;
		memcpy(code, (const char *)data->d_buf + at, size);
		*ret_offset = header.sh_offset + at;
		return size;
	}
	return 0;
}

void dwarf_file_window(const struct dwarf_file *f, uint64_t offset, struct dwarf_code_window *ret)
{
	enum { PAGE = 4096, LEAST = 16 };
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(f->module, &bias);
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	ret->n = 0;
	while ((section = next_code(elf, section, &header))) {
		uint64_t first = offset & -(uint64_t)PAGE, end = first + PAGE;
		Elf_Data *data;

		if (offset < header.sh_offset || offset - header.sh_offset >= header.sh_size)
			continue;
		data = elf_rawdata(section, NULL);
		if (!data || !data->d_buf || offset - header.sh_offset >= data->d_size)
			return;
		first = first > header.sh_offset ? first : header.sh_offset;
		end = end < header.sh_offset + data->d_size ? end : header.sh_offset + data->d_size;
		if (end - first > sizeof ret->code) {
			first = offset < end - sizeof ret->code ? offset : end - sizeof ret->code;
			end = first + sizeof ret->code;
		}
		if (end - first < LEAST)
			return;
		ret->n = end - first;
		ret->before = offset - first;
		memcpy(ret->code, (const char *)data->d_buf + (first - header.sh_offset), ret->n);
		return;
	}
}

bool dwarf_file_loaded(const struct dwarf_file *f, uint64_t offset, uint64_t *ret_addr)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(f->module, &bias);
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = next_code(elf, section, &header)))
		if (offset >= header.sh_offset && offset - header.sh_offset < header.sh_size) {
			*ret_addr = bias + header.sh_addr + (offset - header.sh_offset);
			return true;
		}
	return false;
}

bool dwarf_file_is_build(const struct dwarf_file *f, const struct build_id *id)
{
	const unsigned char *bits;
	GElf_Addr addr;
	int n = dwfl_module_build_id(f->module, &bits, &addr);

	return n > 0 && (size_t)n == id->len && !memcmp(bits, id->bytes, id->len);
}

void dwarf_file_each_symbol(const struct dwarf_file *f, bool (*each)(void *context, const char *name, uint64_t addr),
			    void *context)
{
	int n = dwfl_module_getsymtab(f->module);

	for (int i = 0; i < n; i++) {
		GElf_Sym sym;
		GElf_Addr addr;
		const char *name = dwfl_module_getsym_info(f->module, i, &sym, &addr, NULL, NULL, NULL);
		int type = GELF_ST_TYPE(sym.st_info);

		if (name && *name && (type == STT_FUNC || type == STT_GNU_IFUNC) && sym.st_shndx != SHN_UNDEF &&
		    !each(context, name, addr))
			return;
	}
}

struct search {
	const char *name;
	uint64_t addr;
	unsigned count;
};

static bool look(void *context, const char *name, uint64_t addr)
{
	struct search *s = context;

	if (!strcmp(name, s->name) && !s->count++)
		s->addr = addr;
	return true;
}

unsigned dwarf_file_symbols(const struct dwarf_file *f, const char *name)
{
	struct search s = { .name = name };

	dwarf_file_each_symbol(f, look, &s);
	return s.count;
}

bool dwarf_file_symbol(const struct dwarf_file *f, const char *name, uint64_t *ret_addr)
{
	struct search s = { .name = name };

	dwarf_file_each_symbol(f, look, &s);
	*ret_addr = s.addr;
	return s.count;
}

static unsigned find_names(const struct dwarf_file *f, const char *name, uint64_t *ret_addr)
{
	int n = dwfl_module_getsymtab(f->module);
	unsigned count = 0;

	for (int i = 0; i < n; i++) {
		GElf_Sym sym;
		GElf_Addr addr;
		const char *own = dwfl_module_getsym_info(f->module, i, &sym, &addr, NULL, NULL, NULL);

		if (own && !strcmp(own, name) && !count++)
			*ret_addr = addr;
	}
	return count;
}

bool dwarf_file_address(const struct dwarf_file *f, const char *name, uint64_t *ret_addr)
{
	return find_names(f, name, ret_addr);
}

unsigned dwarf_file_names(const struct dwarf_file *f, const char *name)
{
	uint64_t ignored;

	return find_names(f, name, &ignored);
}

const char *dwarf_file_symbol_at(const struct dwarf_file *f, uint64_t addr, uint64_t *ret_offset)
{
	GElf_Sym sym;
	GElf_Off offset = 0;
	const char *name = dwfl_module_addrinfo(f->module, addr, &offset, &sym, NULL, NULL, NULL);

	*ret_offset = offset;
	return name;
}

struct holding {
	Dwarf_Addr pc;
	Dwarf_Die *ret;
	bool found;
};

static bool look_for_code(void *context, Dwarf_Die *function)
{
	struct holding *h = context;

	h->found = dwarf_haspc(function, h->pc) > 0;
	if (h->found)
		*h->ret = *function;
	return !h->found;
}

/* The innermost entry that holds the instruction. */
static bool find_innermost(Dwarf_Die *unit, Dwarf_Addr pc, Dwarf_Die *ret)
{
	struct holding h = { .pc = pc, .ret = ret };
	Dwarf_Die child;

	dwarf_each_function(unit, look_for_code, &h);
	for (int r = h.found ? dwarf_child(ret, &child) : 1; r == 0;) {
		bool inside = dwarf_haspc(&child, pc) > 0;

		if (inside)
			*ret = child;
		r = inside ? dwarf_child(ret, &child) : dwarf_siblingof(&child, &child);
	}
	return h.found;
}

/*
 * dwarf_getscopes() tells an inlined function's scopes as they are where it was defined, not where this call of it is;
 * of what link-time optimization put into another unit it tells nothing, and loses memory.
 */
int dwarf_scopes(Dwarf_Die *unit, Dwarf_Addr pc, Dwarf_Die **ret)
{
	Dwarf_Die innermost;

	return find_innermost(unit, pc, &innermost) ? dwarf_getscopes_die(&innermost, ret) : 0;
}
