/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/map.h"
#include "symbols/symtab_codec.h"

static const char *const group_names[NAME_GROUPS] = {
	[GROUP_FIRMWARE] = "[firmware]",
	[GROUP_DECOMPRESSOR] = "[decompressor]",
	[GROUP_KERNEL] = "[kernel]",
	[GROUP_USER] = "[user]",
	[GROUP_UNKNOWN] = "[unknown]",
	[GROUP_TRAMPOLINE] = "[trampoline]",
};

/* Number the functions of a table. `known`: hash of a name, and which one of that name it is → number + 1. */
static void number_table(struct names *n, uint32_t table, struct map *known)
{
	struct names_table *t = &n->tables[table];
	struct map seen = { 0 }; /* hash of a name → how many of that name came before */

	t->numbers = xcalloc(t->tab.count, sizeof *t->numbers);
	for (uint32_t i = 0; i < t->tab.count; i++) {
		uint64_t name = hash_text(0, symtab_name(&t->tab, i)), *same = map_put(&seen, name, 0), *number;

		number = map_put(known, hash64(name + ++*same), 0);
		if (!*number) {
			n->own = array_grow(n->own, n->n_own, &n->own_cap, sizeof *n->own);
			n->own[n->n_own++] = (struct names_own){ .table = table, .index = i };
			*number = n->n_own;
		}
		t->numbers[i] = (uint32_t)(*number - 1);
	}
	map_free(&seen);
}

static int read_tables(struct names *n, const struct reader *r, struct error *err)
{
	struct map known = { 0 };
	int ret = 0;

	n->tables = xcalloc(r->n_symbols, sizeof *n->tables);
	for (; ret == 0 && n->n_tables < r->n_symbols; n->n_tables += ret == 0) {
		const struct buf *symbols = &r->symbols[n->n_tables];
		struct cursor in = cursor_over(symbols->data, symbols->len);

		ret = symbols->len ? symtab_decode(&in, &n->tables[n->n_tables].tab, err) : 0;
		if (ret == 0)
			number_table(n, (uint32_t)n->n_tables, &known);
	}
	map_free(&known);
	return ret;
}

static void free_tables(struct names *n)
{
	for (size_t i = 0; i < n->n_tables; i++) {
		symtab_deinit(&n->tables[i].tab);
		free(n->tables[i].numbers);
	}
	free(n->tables);
	free(n->own);
}

int names_init(struct names *n, const struct reader *r, struct error *err)
{
	*n = (struct names){ .boots = &r->boots, .arch = r->arch };
	if (read_tables(n, r, err) < 0 || code_init(&n->code, r, err) < 0) {
		free_tables(n);
		return error_prefix(err, "%s", r->path);
	}
	spaces_init(&n->spaces, r);
	n->groups = (uint32_t)(n->n_own + n->code.n_functions);
	return 0;
}

bool *names_thunks(const struct names *n)
{
	bool *marks = xcalloc(names_count(n), sizeof *marks);

	for (uint32_t i = 0; i < n->groups; i++)
		marks[i] = names_is_kernel(n, i) && n->arch->is_thunk(names_function(n, i));
	return marks;
}

void names_fold_thunks(struct names *n)
{
	n->thunks = names_thunks(n);
}

bool names_is_thunk(const struct names *n, uint32_t function)
{
	return n->thunks && n->thunks[function];
}

void names_deinit(struct names *n)
{
	free(n->thunks);
	free_tables(n);
	code_deinit(&n->code);
	spaces_deinit(&n->spaces);
}

/* The function of the kernel's own at an address; false: there is none. */
static bool find_own(const struct names *n, const struct boot *boot, uint64_t addr, struct names_symbol *ret)
{
	if (boot->symbols < 0 || (size_t)boot->symbols >= n->n_tables)
		return false;
	ret->tab = &n->tables[boot->symbols].tab;
	ret->index = symtab_lookup(ret->tab, addr - boot->slide);
	if (ret->index == SYMTAB_NONE)
		return false;
	ret->offset = addr - boot->slide - ret->tab->symbols[ret->index].addr;
	return true;
}

uint64_t names_kernel_ns(const struct names *n, uint64_t ns)
{
	return n->boots->list[boots_at(n->boots, ns)].kernel_ns;
}

/* Firmware also runs where the guest was woken from RAM. */
static bool is_woken(const struct names *n, uint64_t ns)
{
	return n->boots->n_wakes && boots_wake_at(n->boots, ns);
}

bool names_before_kernel(const struct names *n, uint64_t ns)
{
	return ns < names_kernel_ns(n, ns) || is_woken(n, ns);
}

bool names_own_address(const struct names *n, uint32_t function, uint64_t *ret)
{
	const struct names_own *own = function < n->n_own ? &n->own[function] : NULL;

	if (!own)
		return false;
	for (size_t i = 0; i < n->boots->count; i++)
		if (n->boots->list[i].symbols == (long)own->table) {
			*ret = n->tables[own->table].tab.symbols[own->index].addr + n->boots->list[i].slide;
			return true;
		}
	return false;
}

enum { FIRMWARE_END = 1 << 20 }; /* what lies below is not overwritten by Linux: a BIOS also runs later */

static enum name_group group_of(const struct names *n, const struct boot *boot, uint64_t addr, uint64_t ns,
				uint32_t version)
{
	if (addr == 0)
		return GROUP_UNKNOWN;
	if (addr_is_kernel(addr))
		return GROUP_KERNEL;
	if (is_woken(n, ns))
		return GROUP_FIRMWARE;
	if (ns >= boot->kernel_ns)
		return version || addr >= FIRMWARE_END ? GROUP_USER : GROUP_TRAMPOLINE;
	return ns >= boot->decompressor_ns ? GROUP_DECOMPRESSOR : GROUP_FIRMWARE;
}

/* Where in code that is not the kernel's own; no object: nowhere. */
static struct code_place place_in_code(const struct names *n, const struct boot *boot, uint64_t addr, uint64_t ns,
				       uint32_t version)
{
	bool woken = is_woken(n, ns);
	const struct code_record *mapping =
		addr_is_kernel(addr) || woken ? NULL : spaces_mapping(&n->spaces, version, addr);

	if (!mapping && !addr_is_kernel(addr) && addr >= FIRMWARE_END && ns >= boot->kernel_ns && !woken)
		return (struct code_place){ 0 }; /* a program's, that nothing told of */
	if (!mapping)
		return code_in_kernel(&n->code, addr, ns, (size_t)(boot - n->boots->list));
	return code_in_file(&n->code, mapping, (size_t)(mapping - n->spaces.code), addr);
}

/* Firmware is gone when programs run: what is there depends on the time. */
static bool is_outside(const struct names *n, const struct code_place *p)
{
	return n->code.functions[p->object->whole].outside;
}

static struct place find_any_place(const struct names *n, uint64_t addr, uint64_t ns, uint32_t version,
				   bool *ret_always)
{
	const struct boot *boot = &n->boots->list[boots_at(n->boots, ns)];
	struct names_symbol own;
	struct code_place p;

	*ret_always = true;
	if (find_own(n, boot, addr, &own))
		return (struct place){
			.function = n->tables[boot->symbols].numbers[own.index], .at = own.offset ? 0 : AT_START,
		};
	p = place_in_code(n, boot, addr, ns, version);
	*ret_always = addr_is_kernel(addr) ? p.always : version && p.object && !is_outside(n, &p);
	if (!p.object)
		return (struct place){ .function = n->groups + group_of(n, boot, addr, ns, version), .at = IN_GROUP };
	return (struct place){
		.function = (uint32_t)n->n_own + code_number(&p),
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

struct place name_cache_miss(struct name_cache *c, struct name_entry *entry, uint64_t addr, uint64_t ns,
			     uint32_t version)
{
	bool always;
	struct place place = find_place(c->names, addr, ns, version, &always);

	if (always)
		*entry = (struct name_entry){ .addr = addr, .place = place, .version = version };
	return place;
}

bool name_cache_lasting(struct name_cache *c, uint64_t addr, uint64_t ns, uint32_t version, struct place *ret)
{
	struct name_entry *entry;

	name_cache_set_time(c, ns);
	entry = name_cache_entry(c, addr, &version);
	if (!name_entry_is(entry, addr, version))
		name_cache_miss(c, entry, addr, ns, version);
	*ret = entry->place;
	return name_entry_is(entry, addr, version);
}

uint32_t names_find(const struct names *n, const char *name)
{
	for (uint32_t i = 0; i < n->n_own; i++)
		if (!strcmp(names_function(n, i), name))
			return i;
	return UINT32_MAX;
}

static const struct code_function *code_function(const struct names *n, uint32_t function)
{
	if (function < n->n_own || function >= n->groups)
		return NULL;
	return &n->code.functions[function - n->n_own];
}

bool names_is_kernel(const struct names *n, uint32_t function)
{
	const struct code_function *f = code_function(n, function);

	return f ? f->module : function < n->groups || function == n->groups + GROUP_KERNEL;
}

bool names_is_user(const struct names *n, uint32_t function)
{
	const struct code_function *f = code_function(n, function);

	return f ? !f->module && !f->outside : function == n->groups + GROUP_USER;
}

bool names_is_outside(const struct names *n, uint32_t function)
{
	const struct code_function *f = code_function(n, function);

	return f && f->outside;
}

bool names_is_group(const struct names *n, uint32_t function)
{
	const struct code_function *f = code_function(n, function);

	return f ? f->whole : function >= n->groups;
}

const char *names_alone(const struct names *n, uint32_t function, size_t *ret_len)
{
	const char *name = names_function(n, function), *object = names_object(n, function);
	size_t len = strlen(name), more = strlen(object) + strlen(" []");

	if (*object && len > more && !strncmp(name + len - more, " [", 2))
		len -= more;
	*ret_len = len;
	return name;
}

const char *names_function(const struct names *n, uint32_t function)
{
	const struct code_function *f = code_function(n, function);

	if (f)
		return f->name;
	if (function >= n->groups)
		return group_names[function - n->groups];
	return symtab_name(&n->tables[n->own[function].table].tab, n->own[function].index);
}

const char *names_section(const struct names *n, uint32_t function)
{
	const struct code_function *f = code_function(n, function);

	if (f)
		return f->section;
	if (function >= n->groups)
		return "";
	return symtab_section_name(&n->tables[n->own[function].table].tab, n->own[function].index);
}

const char *names_object(const struct names *n, uint32_t function)
{
	const struct code_function *f = code_function(n, function);

	return f ? f->object : "";
}

bool names_symbol(const struct names *n, uint64_t addr, uint64_t ns, uint32_t version, struct names_symbol *ret)
{
	const struct boot *boot = &n->boots->list[boots_at(n->boots, ns)];
	struct code_place p;

	if (find_own(n, boot, addr, ret))
		return true;
	p = place_in_code(n, boot, addr, ns, version);
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
static void put_address(const struct names *n, uint64_t addr, uint64_t behind, uint64_t ns, uint32_t version,
			struct buf *out)
{
	const struct boot *boot = &n->boots->list[boots_at(n->boots, ns)];
	struct names_symbol own;
	struct code_place p;

	if (find_own(n, boot, addr, &own)) {
		buf_printf(out, "%s", symtab_name(own.tab, own.index));
		put_offset(out, own.offset + behind);
		return;
	}
	p = place_in_code(n, boot, addr, ns, version);
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
	name_cache_enter_boot(c, 0);
}

void name_cache_enter_boot(struct name_cache *c, uint64_t ns)
{
	const struct boots *b = c->names->boots;
	size_t i = boots_at(b, ns);

	c->boot = (uint32_t)i;
	c->boot_ns = b->list[i].start_ns;
	c->boot_length = (i + 1 < b->count ? b->list[i + 1].start_ns : UINT64_MAX) - c->boot_ns;
}
