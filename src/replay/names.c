/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names.h"

#include <inttypes.h>

#include "arch/x86_thunks.h"
#include "base/alloc.h"

static const char *const group_names[NAME_GROUPS] = {
	[GROUP_FIRMWARE] = "[firmware]",
	[GROUP_DECOMPRESSOR] = "[decompressor]",
	[GROUP_KERNEL] = "[kernel]",
	[GROUP_USER] = "[user]",
	[GROUP_UNKNOWN] = "[unknown]",
};

int names_init(struct names *n, const struct reader *r, struct error *err)
{
	struct cursor in = cursor_over(r->symbols.data, r->symbols.len);

	*n = (struct names){
		.slide = meta_get_u64(&r->meta, "slide", 0),
		.kernel_ns = meta_get_u64(&r->meta, "kernel_ns", UINT64_MAX),
		.decompressor_ns = meta_get_u64(&r->meta, "decompressor_ns", UINT64_MAX),
	};
	if (r->symbols.len && symtab_decode(&in, &n->tab, err) < 0)
		return error_prefix(err, "%s", r->path);
	if (code_init(&n->code, r, err) < 0) {
		symtab_deinit(&n->tab);
		return error_prefix(err, "%s", r->path);
	}
	spaces_init(&n->spaces, r);
	n->groups = (uint32_t)(n->tab.count + n->code.n_functions);
	return 0;
}

void names_fold_thunks(struct names *n)
{
	n->thunks = xcalloc(names_count(n), sizeof *n->thunks);
	for (uint32_t i = 0; i < n->groups; i++)
		n->thunks[i] = names_is_kernel(n, i) && x86_is_thunk(names_function(n, i));
}

bool names_is_thunk(const struct names *n, uint32_t function)
{
	return n->thunks && n->thunks[function];
}

void names_deinit(struct names *n)
{
	free(n->thunks);
	symtab_deinit(&n->tab);
	code_deinit(&n->code);
	spaces_deinit(&n->spaces);
}

static enum name_group group_of(const struct names *n, uint64_t addr, uint64_t ns)
{
	if (addr == 0)
		return GROUP_UNKNOWN;
	if (addr_is_kernel(addr))
		return GROUP_KERNEL;
	if (ns >= n->kernel_ns)
		return GROUP_USER;
	return ns >= n->decompressor_ns ? GROUP_DECOMPRESSOR : GROUP_FIRMWARE;
}

/* Where in code that is not the kernel's own; no object: nowhere. */
static struct code_place place_in_code(const struct names *n, uint64_t addr, uint64_t ns, uint32_t version)
{
	const struct code_record *mapping;

	if (addr_is_kernel(addr))
		return code_in_kernel(&n->code, addr, ns);
	mapping = spaces_mapping(&n->spaces, version, addr);
	if (!mapping)
		return (struct code_place){ 0 };
	return code_in_file(&n->code, mapping, (size_t)(mapping - n->spaces.code), addr);
}

static struct place find_any_place(const struct names *n, uint64_t addr, uint64_t ns, uint32_t version, bool *ret_always)
{
	long i = symtab_lookup(&n->tab, addr - n->slide);
	struct code_place p;

	*ret_always = true;
	if (i != SYMTAB_NONE)
		return (struct place){ .function = (uint32_t)i, .at = n->tab.symbols[i].addr == addr - n->slide ? AT_START : 0 };
	p = place_in_code(n, addr, ns, version);
	*ret_always = addr_is_kernel(addr) ? p.always : version && p.object;
	if (!p.object)
		return (struct place){ .function = n->groups + group_of(n, addr, ns), .at = IN_GROUP };
	return (struct place){
		.function = (uint32_t)n->tab.count + code_number(&p),
		.at = (p.index != SYMTAB_NONE && !p.offset ? AT_START : 0) |
		      (n->code.functions[code_number(&p)].whole ? IN_GROUP : 0),
	};
}

static struct place find_place(const struct names *n, uint64_t addr, uint64_t ns, uint32_t version, bool *ret_always)
{
	struct place place = find_any_place(n, addr, ns, version, ret_always);

	if (names_is_thunk(n, place.function))
		place.at = IN_THUNK;
	return place;
}

struct place names_place(const struct names *n, uint64_t addr, uint64_t ns, uint32_t version)
{
	bool always;

	return find_place(n, addr, ns, version, &always);
}

struct place name_cache_miss(struct name_cache *c, struct name_entry *entry, uint64_t addr, uint64_t ns, uint32_t version)
{
	bool always;
	struct place place = find_place(c->names, addr, ns, version, &always);

	if (always)
		*entry = (struct name_entry){ .addr = addr, .place = place, .version = version };
	return place;
}

bool name_cache_lasting(struct name_cache *c, uint64_t addr, uint64_t ns, uint32_t version, struct place *ret)
{
	struct name_entry *entry = name_cache_entry(c, addr, &version);

	if (!name_entry_is(entry, addr, version))
		name_cache_miss(c, entry, addr, ns, version);
	*ret = entry->place;
	return name_entry_is(entry, addr, version);
}

uint32_t names_find(const struct names *n, const char *name)
{
	for (size_t i = 0; i < n->tab.count; i++)
		if (!strcmp(symtab_name(&n->tab, (long)i), name))
			return (uint32_t)i;
	return UINT32_MAX;
}

static const struct code_function *code_function(const struct names *n, uint32_t function)
{
	if (function < n->tab.count || function >= n->groups)
		return NULL;
	return &n->code.functions[function - n->tab.count];
}

bool names_is_kernel(const struct names *n, uint32_t function)
{
	const struct code_function *f = code_function(n, function);

	return f ? f->module : function < n->groups || function == n->groups + GROUP_KERNEL;
}

bool names_is_user(const struct names *n, uint32_t function)
{
	const struct code_function *f = code_function(n, function);

	return f ? !f->module : function == n->groups + GROUP_USER;
}

bool names_is_group(const struct names *n, uint32_t function)
{
	const struct code_function *f = code_function(n, function);

	return f ? f->whole : function >= n->groups;
}

const char *names_function(const struct names *n, uint32_t function)
{
	const struct code_function *f = code_function(n, function);

	if (f)
		return f->name;
	return function < n->groups ? symtab_name(&n->tab, function) : group_names[function - n->groups];
}

const char *names_section(const struct names *n, uint32_t function)
{
	const struct code_function *f = code_function(n, function);

	if (f)
		return f->section;
	return function < n->groups ? symtab_section_name(&n->tab, function) : "";
}

const char *names_object(const struct names *n, uint32_t function)
{
	const struct code_function *f = code_function(n, function);

	return f ? f->object : "";
}

bool names_symbol(const struct names *n, uint64_t addr, uint64_t ns, uint32_t version, struct names_symbol *ret)
{
	long i = symtab_lookup(&n->tab, addr - n->slide);
	struct code_place p;

	if (i != SYMTAB_NONE) {
		*ret = (struct names_symbol){ .tab = &n->tab, .index = i, .offset = addr - n->slide - n->tab.symbols[i].addr };
		return true;
	}
	p = place_in_code(n, addr, ns, version);
	if (!p.object || p.index == SYMTAB_NONE)
		return false;
	*ret = (struct names_symbol){ .tab = &p.object->tab, .index = p.index, .offset = p.offset };
	return true;
}

static void put_offset(struct buf *out, uint64_t offset)
{
	if (offset)
		buf_printf(out, "+0x%" PRIx64, offset);
}

/* The address that many bytes behind `addr`, as one of the function at `addr`. */
static void put_address(const struct names *n, uint64_t addr, uint64_t behind, uint64_t ns, uint32_t version, struct buf *out)
{
	long i = symtab_lookup(&n->tab, addr - n->slide);
	struct code_place p;

	if (i != SYMTAB_NONE) {
		buf_printf(out, "%s", symtab_name(&n->tab, i));
		put_offset(out, addr + behind - n->slide - n->tab.symbols[i].addr);
		return;
	}
	p = place_in_code(n, addr, ns, version);
	if (!p.object) {
		buf_printf(out, "0x%" PRIx64, addr + behind);
	} else if (p.index == SYMTAB_NONE) {
		buf_printf(out, "%s", p.object->name);
		put_offset(out, p.offset + behind);
	} else {
		code_put_name(&p, out);
		put_offset(out, p.offset + behind);
		buf_printf(out, " [%s]", p.object->name);
	}
}

void names_address(const struct names *n, uint64_t addr, uint64_t ns, uint32_t version, struct buf *out)
{
	put_address(n, addr, 0, ns, version, out);
}

void names_return_address(const struct names *n, uint64_t addr, uint64_t ns, uint32_t version, struct buf *out)
{
	put_address(n, addr - 1, 1, ns, version, out);
}

void name_cache_init(struct name_cache *c, const struct names *n)
{
	memset(c, 0, sizeof *c);
	c->names = n;
	/* an entry that is not in use has an address that belongs elsewhere */
	c->entries[0].addr = 1;
}
