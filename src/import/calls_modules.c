/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "calls_modules.h"

#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/file.h"
#include "calls_blocks.h"
#include "symbols/debug_file.h"
#include "symbols/elf_symbols.h"

enum { MODULES_MAX = 4096, FILE_MAX = 1 << 30, SECTION_NAME = 31 };

struct module {
	uint64_t base, from, to;
	struct build_id id;
	char *path;
	uint16_t section;
	bool here; /* else it is gone */
};

struct function {
	uint64_t address;
	uint32_t module; /* NONE: it lies in none */
	char *name;
};

enum { NONE = UINT32_MAX };

struct calls_modules {
	struct made_trace *made;
	struct module *modules;
	size_t n_modules, modules_cap;
	struct function *functions;
	size_t n_functions, functions_cap;
	struct map by_address; /* address → function, of what is loaded */
	size_t nameless;
};

struct calls_modules *calls_modules_new(struct made_trace *m)
{
	struct calls_modules *c = xcalloc(1, sizeof *c);

	c->made = m;
	return c;
}

void calls_modules_free(struct calls_modules *c)
{
	for (size_t i = 0; i < c->n_modules; i++)
		free(c->modules[i].path);
	for (size_t i = 0; i < c->n_functions; i++)
		free(c->functions[i].name);
	free(c->modules);
	free(c->functions);
	map_free(&c->by_address);
	free(c);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* What is loaded a second time has the section that it had. */
static uint16_t section_of(struct calls_modules *c, const char *path)
{
	char name[SECTION_NAME + 1];

	for (size_t i = 0; i < c->n_modules; i++)
		if (!strcmp(c->modules[i].path, path))
			return c->modules[i].section;
	snprintf(name, sizeof name, "%s", base_name(path));
	return made_trace_add_section(c->made, name);
}

bool calls_modules_add(struct calls_modules *c, struct cursor payload)
{
	const void *head = cursor_take(&payload, sizeof(struct calls_module)), *id, *path;
	struct calls_module m = { 0 };
	struct module module;

	if (!head || c->n_modules == MODULES_MAX)
		return false;
	memcpy(&m, head, sizeof m);
	id = cursor_take(&payload, m.build_id_bytes);
	path = cursor_take(&payload, m.path_bytes);
	if (!path || m.build_id_bytes > BUILD_ID_MAX)
		return false;
	module = (struct module){ .base = m.base, .from = m.from, .to = m.to, .here = true };
	module.id.len = m.build_id_bytes;
	memcpy(module.id.bytes, id, m.build_id_bytes);
	module.path = xstrndup(path, m.path_bytes);
	module.section = section_of(c, module.path);
	c->modules = array_grow(c->modules, c->n_modules, &c->modules_cap, sizeof *c->modules);
	c->modules[c->n_modules++] = module;
	return true;
}

bool calls_modules_unload(struct calls_modules *c, struct cursor payload)
{
	uint64_t from = cursor_u64(&payload);

	if (payload.bad)
		return false;
	for (size_t i = 0; i < c->n_modules; i++)
		if (c->modules[i].from == from)
			c->modules[i].here = false;
	/* others may come to where its functions were */
	map_free(&c->by_address);
	c->by_address = (struct map){ 0 };
	for (size_t i = 0; i < c->n_functions; i++)
		if (c->functions[i].module == NONE || c->modules[c->functions[i].module].here)
			*map_put(&c->by_address, c->functions[i].address, 0) = i;
	return true;
}

static uint32_t module_of(const struct calls_modules *c, uint64_t address)
{
	for (size_t i = c->n_modules; i-- > 0;)
		if (c->modules[i].here && address >= c->modules[i].from && address < c->modules[i].to)
			return (uint32_t)i;
	return NONE;
}

static struct made_function place_of(size_t function)
{
	/* the first place is that of what runs outside of all */
	return (struct made_function){ made_function_address(function + 1), FUNCTION_ROOM };
}

struct made_function calls_modules_function(struct calls_modules *c, uint64_t address)
{
	uint64_t *known = map_put(&c->by_address, address, UINT64_MAX);

	if (*known == UINT64_MAX) {
		/* beyond what a trace has room for, all are the last one */
		if (c->n_functions == FUNCTIONS_MAX - 2)
			return place_of(c->n_functions - 1);
		*known = c->n_functions;
		c->functions = array_grow(c->functions, c->n_functions, &c->functions_cap, sizeof *c->functions);
		c->functions[c->n_functions++] =
			(struct function){ .address = address, .module = module_of(c, address) };
	}
	return place_of((size_t)*known);
}

/* Where in the file an address lies that is as the file has it; UINT64_MAX: nowhere. */
static uint64_t offset_of(Elf *elf, uint64_t address)
{
	size_t n = 0;
	GElf_Phdr p;

	elf_getphdrnum(elf, &n);
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_LOAD && address >= p.p_vaddr &&
		    address - p.p_vaddr < p.p_filesz)
			return p.p_offset + (address - p.p_vaddr);
	return UINT64_MAX;
}

/* A module's symbols, if the host has its file. */
struct file {
	struct buf data;
	Elf *elf;
	struct symtab symbols;
	bool is_there;
};

static void read_file(const struct module *m, struct file *ret)
{
	struct buf debug = { 0 };
	struct build_id id = { 0 };
	struct error ignored;

	*ret = (struct file){ 0 };
	if (file_read(m->path, FILE_MAX, &ret->data, &ignored) < 0)
		return;
	build_id_of(ret->data.data, ret->data.len, &id);
	if (m->id.len && !build_id_same(&id, &m->id))
		return;
	if (elf_is_stripped(ret->data.data, ret->data.len) && m->id.len)
		debug_file_find(&m->id, NULL, 0, false, &debug);
	ret->is_there = elf_symbols(ret->data.data, ret->data.len, debug.len ? debug.data : ret->data.data,
				    debug.len ? debug.len : ret->data.len, &ret->symbols, &ignored) == 0;
	elf_version(EV_CURRENT);
	ret->elf = elf_memory((char *)ret->data.data, ret->data.len);
	ret->is_there = ret->is_there && ret->elf;
	buf_free(&debug);
}

static void free_file(struct file *f)
{
	if (f->is_there)
		symtab_deinit(&f->symbols);
	elf_end(f->elf);
	buf_free(&f->data);
}

static char *name_of(const struct module *m, const struct file *f, uint64_t address)
{
	uint64_t offset = f->is_there ? offset_of(f->elf, address - m->base) : UINT64_MAX;
	long i = offset == UINT64_MAX ? SYMTAB_NONE : symtab_lookup(&f->symbols, offset);

	/* a name of what begins elsewhere would be another function's */
	if (i == SYMTAB_NONE || f->symbols.symbols[i].addr != offset)
		return NULL;
	return xstrdup(symtab_name(&f->symbols, i));
}

static void name_those_of(struct calls_modules *c, uint32_t module)
{
	const struct module *m = &c->modules[module];
	struct file file;

	read_file(m, &file);
	for (size_t i = 0; i < c->n_functions; i++) {
		struct function *f = &c->functions[i];

		if (f->module != module)
			continue;
		f->name = name_of(m, &file, f->address);
		if (f->name)
			continue;
		f->name = xasprintf("%s+0x%" PRIx64, base_name(m->path), f->address - m->base);
		c->nameless++;
	}
	free_file(&file);
}

size_t calls_modules_name(struct calls_modules *c)
{
	for (size_t i = 0; i < c->n_modules; i++)
		name_those_of(c, (uint32_t)i);
	for (size_t i = 0; i < c->n_functions; i++) {
		struct function *f = &c->functions[i];

		if (!f->name) {
			f->name = xasprintf("0x%" PRIx64, f->address);
			c->nameless++;
		}
		made_trace_add_function(c->made,
					&(struct symtab_function){
						.addr = place_of(i).addr,
						.size = FUNCTION_ROOM,
						.name = f->name,
						.section = f->module == NONE ? 0 : c->modules[f->module].section,
					});
	}
	return c->nameless;
}
