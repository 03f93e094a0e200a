/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an address of a trace is called. Every address belongs to a function:
 * one of the kernel's, of a module's, a file's or an object's (firmware), or the group that stands for
 * code that nothing is known of.
 */
#ifndef UPTO_REPLAY_NAMES_H
#define UPTO_REPLAY_NAMES_H

#include <assert.h>

#include "arch/address.h"
#include "code.h"
#include "spaces.h"

/*
 * In the numbering the kernels' own functions come first, then those of code.h, then the groups. Functions of the same
 * name in the kernels of several boots have one number.
 */
enum name_group {
	GROUP_FIRMWARE,     /* before the kernel's first instruction */
	GROUP_DECOMPRESSOR, /* the kernel image's own loader, likewise */
	GROUP_KERNEL,       /* kernel addresses outside the kernel's image and its modules */
	GROUP_USER,         /* the lower half, once the kernel runs, where nothing told of a mapping */
	GROUP_UNKNOWN,      /* nothing told where control is */
	GROUP_TRAMPOLINE,   /* below 1 MiB, once the kernel runs, outside of processes: where other vCPUs begin */
	NAME_GROUPS,
};

/* A kernel's own functions. */
struct names_table {
	struct symtab tab;
	uint32_t *numbers;        /* by index in it */
};

struct names_own {
	uint32_t table, index;    /* the first table that has the function */
};

struct names {
	const struct boots *boots; /* the reader's */
	const struct arch *arch;   /* likewise */
	struct names_table *tables; /* as the trace has them: struct boot.symbols */
	size_t n_tables;
	struct names_own *own;    /* by number */
	size_t n_own, own_cap;
	struct code code;
	struct spaces spaces;
	uint32_t groups;          /* number of the first group */
	bool *thunks;             /* marks by function, see names_fold_thunks(); NULL: none */
};

int names_init(struct names *n, const struct reader *r, struct error *err);
void names_deinit(struct names *n);

/*
 * From now on thunks (struct arch, is_thunk) are IN_THUNK, and what replays and sums goes on in the function that led
 * there. The instructions of a thunk are its caller's then, and what it leads to is called by that one.
 */
void names_fold_thunks(struct names *n);
/* Marks of all thunks, by function. The caller frees them. */
bool *names_thunks(const struct names *n);
bool names_is_thunk(const struct names *n, uint32_t function);

static inline size_t names_count(const struct names *n)
{
	return n->groups + NAME_GROUPS;
}

struct place {
	uint32_t function : 29;
	uint32_t at : 3; /* enum place_at, or 0 */
};

enum place_at {
	AT_START = 1, /* the address is the function's first; never so for groups and what has no name */
	IN_GROUP = 2, /* names_is_group() */
	IN_THUNK = 4, /* names_is_thunk(); of these, starts are not told apart */
};

/* Whose code it is; neither: firmware, the decompressor, unknown. */
bool names_is_kernel(const struct names *n, uint32_t function);
bool names_is_user(const struct names *n, uint32_t function);
/* Is it a function of firmware or the like, which has a name since the user gave the file? */
bool names_is_outside(const struct names *n, uint32_t function);

/* Not a function with bounds, but all code of a kind, or of a file, that has no name. */
bool names_is_group(const struct names *n, uint32_t function);

/*
 * The function that holds the address, as seen at that time by whoever has that version of an address space (spaces.h).
 */
struct place names_place(const struct names *n, uint64_t addr, uint64_t ns, uint32_t version);

/* The first function of that name; UINT32_MAX: there is none. */
uint32_t names_find(const struct names *n, const char *name);

/* When the kernel's first instruction ran, in the boot that is under way at that time; UINT64_MAX: never. */
uint64_t names_kernel_ns(const struct names *n, uint64_t ns);

/* Does what comes before a kernel run then: firmware, a boot loader, the decompressor? So also in a wake (boots.h). */
bool names_before_kernel(const struct names *n, uint64_t ns);

/* Where a kernel's own function was, in the first boot that had it. False: it is none, or that is not known. */
bool names_own_address(const struct names *n, uint32_t function, uint64_t *ret);

/* "do_syscall_64", "[user]" */
const char *names_function(const struct names *n, uint32_t function);
/* Its name alone, without the module or file that it is in ("ext4_mount"): so many bytes of that. */
const char *names_alone(const struct names *n, uint32_t function, size_t *ret_len);
/* ".text"; "" for groups */
const char *names_section(const struct names *n, uint32_t function);
/* Module or file: "ext4", "libc.so.6"; "" for the kernel's own and groups */
const char *names_object(const struct names *n, uint32_t function);

/* Which function of which table an address is in, and how far behind its start. */
struct names_symbol {
	const struct symtab *tab; /* the kernel's, or that of an object of code.h */
	long index;
	uint64_t offset;
};

/* False: what is there has no name of its own. */
bool names_symbol(const struct names *n, uint64_t addr, uint64_t ns, uint32_t version, struct names_symbol *ret);

/* "do_syscall_64+0x87", "ext4_mount+0x3 [ext4]", "busybox+0x61189", "0x461189" into *out. */
void names_address(const struct names *n, uint64_t addr, uint64_t ns, uint32_t version, struct buf *out);

/* The same of where a call returns to: it is its caller's, also where the call is the last of its function. */
void names_return_address(const struct names *n, uint64_t addr, uint64_t ns, uint32_t version, struct buf *out);

/*
 * The same answers, remembered: one of these a thread. Addresses of the kernel's
 * own code depend on the address and the boot, those of user code on the version of
 * the address space; others are looked up by time.
 */
#ifdef UPTO_SMALL_TABLES /* as in trace/model.h */
enum { NAME_CACHE = 64 };
#else
enum { NAME_CACHE = 1 << 16 };
#endif

struct name_cache {
	const struct names *names;
	uint64_t boot_ns, boot_length; /* when the boot began that was under way last, and how long it lasts */
	uint32_t boot;                 /* its number */
	struct name_entry {
		uint64_t addr;
		struct place place;
		uint32_t version;
	} entries[NAME_CACHE];
};
static_assert(sizeof(struct name_entry) == 16, "entries do not straddle cache lines");

void name_cache_init(struct name_cache *c, const struct names *n);

struct place name_cache_miss(struct name_cache *c, struct name_entry *entry, uint64_t addr, uint64_t ns,
			     uint32_t version);

/* False: what is there may be another function's at another time. */
bool name_cache_lasting(struct name_cache *c, uint64_t addr, uint64_t ns, uint32_t version, struct place *ret);

void name_cache_enter_boot(struct name_cache *c, uint64_t ns);

/* What is asked from now on is of that time's boot. */
static inline void name_cache_set_time(struct name_cache *c, uint64_t ns)
{
	if (__builtin_expect(ns - c->boot_ns >= c->boot_length, 0))
		name_cache_enter_boot(c, ns);
}

/* The kernel's addresses do not depend on the version, but on the boot. */
static inline uint32_t name_cache_version(const struct name_cache *c, uint64_t addr, uint32_t version)
{
	return addr_is_kernel(addr) ? c->boot : version;
}

/* Where the address is kept, and the version that it has there: name_cache_set_time() was called. */
static inline struct name_entry *name_cache_entry(struct name_cache *c, uint64_t addr, uint32_t *version)
{
	*version = name_cache_version(c, addr, *version);
	return &c->entries[(hash64(addr) ^ *version) % NAME_CACHE];
}

static inline bool name_entry_is(const struct name_entry *entry, uint64_t addr, uint32_t version)
{
	return __builtin_expect(entry->addr == addr && entry->version == version, 1);
}

/* For the task that runs there, of which `view` is kept. */
static inline struct place name_cache_place(struct name_cache *c, struct space_view *view, uint64_t task, uint64_t addr,
					    uint64_t ns)
{
	uint32_t version = addr_is_kernel(addr) ? 0 : spaces_at(&c->names->spaces, view, task, ns);
	struct name_entry *entry;

	name_cache_set_time(c, ns);
	entry = name_cache_entry(c, addr, &version);
	return name_entry_is(entry, addr, version) ? entry->place : name_cache_miss(c, entry, addr, ns, version);
}

#endif
