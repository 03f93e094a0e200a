/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which kernel runs in the guest, and where: what the host knows of it is read
 * by a thread of its own while the firmware runs; its slide is found when its
 * first block at a kernel address is translated. A kernel that came from a disk
 * is read out of guest memory instead.
 */
#ifndef UPTO_RECORDER_KERNEL_H
#define UPTO_RECORDER_KERNEL_H

#include <pthread.h>
#include <string.h>

#include "arch/address.h"
#include "base/buf.h"
#include "base/map.h"
#include "guest/kernel_sources.h"
#include "hooks.h"
#include "recorder/code/modules.h"
#include "recorder/qemu/registers.h"
#include "symbols/symtab.h"

/* Data of the kernel's, at run-time addresses; 0: not known. */
enum kernel_data {
	DATA_INIT_TASK,
	DATA_PER_CPU_OFFSET, /* by number of CPU: where its own data lies, seen from where it is linked for */
	DATA_CURRENT_TASK,   /* of each CPU */
	DATA_PCPU_HOT,       /* likewise: its first member is the task that runs */
	DATA_MODULES,
	DATA_BPF_KALLSYMS,
	DATA_COMMAND_LINE,   /* a pointer to it */
	DATA_BTF_MODULES,    /* modules' types */
	DATA_LOG,            /* a pointer to struct printk_ringbuffer */
	DATA_ORC_IPS,        /* guest/orc.h */
	DATA_ORC_IPS_END,
	DATA_ORC,
	DATA_EVENTS,         /* pointers to struct trace_event_call: include/asm-generic/vmlinux.lds.h */
	DATA_EVENTS_END,
	DATA_ENUMS,          /* pointers to struct trace_eval_map */
	DATA_ENUMS_END,
	DATA_EVENT_STRINGS,  /* pointers to texts: trace/event_strings.h */
	DATA_EVENT_STRINGS_END,
	DATA_TRACEPOINTS,    /* where struct tracepoint lies, seen from the entry: 32 bits */
	DATA_TRACEPOINTS_END,
	DATA_JUMPS,          /* struct jump_entry */
	DATA_JUMPS_END,
	KERNEL_DATA,
};

struct kernel {
	pthread_t loader;
	bool loading;
	struct kernel_sources sources; /* its strings live as long as the recorder */
	bool no_linux;           /* what -kernel starts is no Linux, and its symbols were given: nothing to look for */
	struct error error;      /* why the files were no good */
	struct known_kernel known;
	/*
	 * link addresses that conditional jumps lead to in other functions (guest/tail_jumps.h): of the image, and of
	 * what was found in memory
	 */
	struct buf image_jumps, memory_jumps;
	bool have_image;         /* something is known */
	bool keeps_types;        /* `types` are wanted */

	uint32_t asked;
	bool seen;               /* some kernel's code has run, whether it was found or not */

	/*
	 * once found; vCPUs read it without the lock, so ask kernel_found(), and of functions kernel_is_inside() and
	 * kernel_has_code():
	 */
	bool found;
	long tables;             /* tables of symbols that were written so far, … */
	long table;              /* … which of them is this kernel's, … */
	long image_table;        /* … and which is the image's; -1: none yet */
	bool from_image;         /* its symbols are the image's */
	struct symtab tab;
	struct modules modules;
	uint64_t slide;
	char *banner;
	/* run-time address → number of a hook there + 1; it is never changed once the kernel is found */
	struct map hooks_at;
	uint64_t lacking;        /* hooks that the kernel has no function for, as bits */
	uint32_t without;        /* features that it does not have (hooks.h), likewise */
	struct layout layout;    /* where its structures have what is read */
	struct buf types;        /* its BTF, if it has one: whoever wants it frees it */
	bool other_types;        /* types that the user named are not those of the kernel that was found */
	char *no_names;          /* why it has no names of functions; NULL: it has */
	uint64_t entry_start, entry_end; /* run-time bounds of .entry.text, where symbols are mere labels */
	uint64_t early_start, early_end; /* likewise of early_idt_handler_array: arch/x86/kernel/head_64.S */
	uint64_t data[KERNEL_DATA];
	struct wanted_symbol {
		char *name;
		uint64_t addr;       /* at run time; 0: it has none of that name */
	} *wanted;               /* that were asked for before it was found; they outlive it */
	size_t n_wanted;
	uint64_t command_line;   /* run-time address of boot_command_line; 0: not known */
};

/* Files that the user named are read at once: see have_image and error. The sources' strings must stay. */
void kernel_start(struct kernel *k, const struct kernel_sources *sources);

/* In translation, with a block at a kernel address: is it time to look for the kernel again? */
bool kernel_due(struct kernel *k);

/* Has it been found? Whoever sees that also sees all that is known of it. */
static inline bool kernel_found(const struct kernel *k)
{
	return __atomic_load_n(&k->found, __ATOMIC_ACQUIRE);
}

/* Has it been looked for so often that it will not be found any more? */
bool kernel_given_up(const struct kernel *k);

/*
 * May code that is translated at that address be a kernel's? One of 32 bits uses page tables, which firmware of 32 bits
 * does not.
 */
bool kernel_may_be_at(struct registers *regs, uint64_t addr);

/* Its address will be asked for by kernel_symbol(), which knows it once the kernel is found; else 0. */
void kernel_want_symbol(struct kernel *k, const char *name);
uint64_t kernel_symbol(const struct kernel *k, const char *name);

/*
 * Find the kernel, which may have code at that address. True when it has been found; then see guest_narrow
 * (guest_address.h).
 */
bool kernel_find(struct kernel *k, struct registers *regs, uint64_t addr);

/*
 * May a handler of interrupts or exceptions begin there? A kernel that is known
 * has them all in .entry.text, but for those of its first moments.
 */
static inline bool kernel_may_handle(const struct kernel *k, uint64_t addr)
{
	if (!kernel_found(k) || !k->entry_end || !k->early_end)
		return true;
	return (addr >= k->entry_start && addr < k->entry_end) || (addr >= k->early_start && addr < k->early_end);
}

/*
 * Another kernel will come: as before one was found, but for the file. Waits for vCPUs that are asking about functions.
 */
void kernel_forget(struct kernel *k);

/*
 * Number i of the run-time addresses that conditional jumps lead to in other functions, all known before the kernel
 * runs; 0: no more.
 */
static inline uint64_t kernel_jumps_to(const struct kernel *k, size_t i)
{
	const struct buf *jumps = k->from_image ? &k->image_jumps : &k->memory_jumps;
	uint64_t addr;

	if (i >= jumps->len / sizeof addr)
		return 0;
	memcpy(&addr, jumps->data + i * sizeof addr, sizeof addr);
	return addr + k->slide;
}

/* Has it a function for the hook whose newest name that is? */
bool kernel_has_hook(const struct kernel *k, const char *function);

/* Where its first function of that name begins, at run time; 0: it has none. Takes time linear in their number. */
static inline uint64_t kernel_function_named(const struct kernel *k, const char *name)
{
	for (size_t i = 0; i < k->tab.count; i++)
		if (!strcmp(symtab_name(&k->tab, (long)i), name))
			return k->tab.symbols[i].addr + k->slide;
	return 0;
}

/* The hook at that address, or NULL. */
const struct hook *kernel_hook_at(const struct kernel *k, uint64_t addr);

/* What the kernel lacks of what is to be learnt, as text for people; nothing: it has all. */
void kernel_lacks(const struct kernel *k, struct buf *out);

/*
 * A number for the function at a run-time address, the kernel's, a module's or an object's (objects.h); SYMTAB_NONE:
 * none.
 */
static inline long kernel_function(struct kernel *k, uint64_t addr)
{
	bool found = kernel_found(k);
	long i;

	if (found && !addr_is_kernel(addr) && !k->no_linux)
		return SYMTAB_NONE;
	i = found ? symtab_lookup(&k->tab, addr - k->slide) : SYMTAB_NONE;
	return i == SYMTAB_NONE ? modules_function(&k->modules, addr) : i;
}

/* Run-time bounds of a function. */
static inline void kernel_bounds(const struct kernel *k, long function, uint64_t *ret_start, uint64_t *ret_end)
{
	bool own = !modules_is_number(function);
	const struct symbol *s = own ? &k->tab.symbols[function] : modules_symbol(&k->modules, function);
	uint64_t slide = own ? k->slide : 0;

	*ret_start = s->addr + slide;
	*ret_end = s->end + slide;
}

/* The function at a run-time address, which is probably `guess`. */
static inline long kernel_function_near(struct kernel *k, long guess, uint64_t addr)
{
	uint64_t start, end;

	if (guess == SYMTAB_NONE)
		return kernel_function(k, addr);
	kernel_bounds(k, guess, &start, &end);
	return addr >= start && addr < end ? guess : kernel_function(k, addr);
}

static inline bool kernel_function_start(const struct kernel *k, long function, uint64_t addr)
{
	uint64_t start, end;

	if (function == SYMTAB_NONE)
		return false;
	kernel_bounds(k, function, &start, &end);
	return addr == start;
}

/*
 * The same questions by a vCPU that executes, without the recorder's lock: does a function of the kernel contain both,
 * and does not begin at the second? Has it a function there? Neither, while the kernel is forgotten.
 */
bool kernel_is_inside(struct kernel *k, uint64_t addr, uint64_t target);
bool kernel_has_code(struct kernel *k, uint64_t addr);

#endif
