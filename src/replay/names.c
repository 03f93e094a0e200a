/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names.h"

#include <inttypes.h>

static const char *const groups[NAME_GROUPS] = {
	[GROUP_FIRMWARE] = "[firmware]",
	[GROUP_DECOMPRESSOR] = "[decompressor]",
	[GROUP_MODULE] = "[module]",
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
	return 0;
}

void names_deinit(struct names *n)
{
	symtab_deinit(&n->tab);
}

static enum name_group group_of(const struct names *n, uint64_t addr, uint64_t ns)
{
	if (addr == 0)
		return GROUP_UNKNOWN;
	if (addr >> 63)
		return GROUP_MODULE;
	if (ns >= n->kernel_ns)
		return GROUP_USER;
	return ns >= n->decompressor_ns ? GROUP_DECOMPRESSOR : GROUP_FIRMWARE;
}

struct place names_place(const struct names *n, uint64_t addr, uint64_t ns)
{
	long i = symtab_lookup(&n->tab, addr - n->slide);

	if (i == SYMTAB_NONE)
		return (struct place){ .function = (uint32_t)n->tab.count + group_of(n, addr, ns) };
	return (struct place){ .function = (uint32_t)i, .start = n->tab.symbols[i].addr == addr - n->slide };
}

uint32_t names_find(const struct names *n, const char *name)
{
	for (size_t i = 0; i < n->tab.count; i++)
		if (!strcmp(symtab_name(&n->tab, (long)i), name))
			return (uint32_t)i;
	return UINT32_MAX;
}

const char *names_function(const struct names *n, uint32_t function)
{
	if (function < n->tab.count)
		return symtab_name(&n->tab, function);
	return groups[function - n->tab.count];
}

const char *names_section(const struct names *n, uint32_t function)
{
	return function < n->tab.count ? symtab_section_name(&n->tab, function) : "";
}

void names_address(const struct names *n, uint64_t addr, struct buf *out)
{
	long i = symtab_lookup(&n->tab, addr - n->slide);
	uint64_t offset;

	if (i == SYMTAB_NONE) {
		buf_printf(out, "0x%" PRIx64, addr);
		return;
	}
	offset = addr - n->slide - n->tab.symbols[i].addr;
	buf_printf(out, "%s", symtab_name(&n->tab, i));
	if (offset)
		buf_printf(out, "+0x%" PRIx64, offset);
}

void name_cache_init(struct name_cache *c, const struct names *n)
{
	memset(c, 0, sizeof *c);
	c->names = n;
	/* an entry that is not in use has an address that belongs elsewhere */
	c->entries[0].addr = 1;
}
