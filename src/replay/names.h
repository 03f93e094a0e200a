/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an address of a trace is called. Every address belongs to a function:
 * one of the kernel's, or the group that stands for code without symbols.
 */
#ifndef UPTO_REPLAY_NAMES_H
#define UPTO_REPLAY_NAMES_H

#include <assert.h>

#include "symbols/symtab.h"
#include "trace/reader.h"

/* Groups follow the kernel's functions in the numbering: names->tab.count + group. */
enum name_group {
	GROUP_FIRMWARE,     /* before the kernel's first instruction */
	GROUP_DECOMPRESSOR, /* the kernel image's own loader, likewise */
	GROUP_MODULE,       /* kernel addresses outside the kernel's image */
	GROUP_USER,         /* the lower half, once the kernel runs */
	GROUP_UNKNOWN,      /* nothing told where control is */
	NAME_GROUPS,
};

struct names {
	struct symtab tab;
	uint64_t slide;
	uint64_t kernel_ns;       /* when the kernel's first instruction ran; UINT64_MAX: never */
	uint64_t decompressor_ns; /* when its loader began; UINT64_MAX: not told */
};

int names_init(struct names *n, const struct reader *r, struct error *err);
void names_deinit(struct names *n);

static inline size_t names_count(const struct names *n)
{
	return n->tab.count + NAME_GROUPS;
}

struct place {
	uint32_t function : 31;
	uint32_t start : 1; /* the address is the function's first; never so for groups */
};

/* The function that holds the address, as seen at that time. */
struct place names_place(const struct names *n, uint64_t addr, uint64_t ns);

/* The first function of that name; UINT32_MAX: there is none. */
uint32_t names_find(const struct names *n, const char *name);

/* "do_syscall_64", "[user]" */
const char *names_function(const struct names *n, uint32_t function);
/* ".text"; "" for groups */
const char *names_section(const struct names *n, uint32_t function);

/* "do_syscall_64+0x87", "0x461189" into *out. */
void names_address(const struct names *n, uint64_t addr, struct buf *out);

/*
 * The same answers, remembered: one of these a thread. Kernel addresses only
 * depend on the address; others are looked up by time.
 */
enum { NAME_CACHE = 1 << 13 };

struct name_cache {
	const struct names *names;
	struct name_entry {
		uint64_t addr;
		struct place place;
	} entries[NAME_CACHE];
};
static_assert(sizeof(struct name_entry) == 16, "entries do not straddle cache lines");

void name_cache_init(struct name_cache *c, const struct names *n);

static inline struct place name_cache_place(struct name_cache *c, uint64_t addr, uint64_t ns)
{
	struct name_entry *entry = &c->entries[hash64(addr) % NAME_CACHE];

	if (__builtin_expect(entry->addr == addr, 1))
		return entry->place;
	if (addr >> 63)
		entry->addr = addr;
	else
		return names_place(c->names, addr, ns);
	return entry->place = names_place(c->names, addr, ns);
}

#endif
