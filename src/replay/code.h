/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions of code that is not the kernel image's own: of its modules, of
 * the files that processes execute, and of objects that are no Linux. Each has a number; that of a module that
 * is loaded again, or of a file that is mapped many times, stays the same. What
 * has no name of its own in an object belongs to the object as a whole.
 */
#ifndef UPTO_REPLAY_CODE_H
#define UPTO_REPLAY_CODE_H

#include "code_ranges.h"
#include "symbols/symtab.h"
#include "trace/reader.h"

/* A module as it was loaded once, or a file. */
struct code_object {
	const char *name;     /* "ext4", "libc.so.6" */
	struct symtab tab;    /* module: run-time addresses; file: offsets in it */
	uint32_t *numbers;    /* numbers of its functions, by index in the table */
	uint32_t whole;       /* number of the function that stands for code without a name */
};

struct code_function {
	const char *name;     /* "ext4_mount [ext4]"; for code without a name: "[busybox]" */
	const char *object;   /* "ext4" */
	const char *section;  /* ".text"; "" for files */
	bool whole, module;
	/* of firmware, a boot loader, a kernel that is no Linux: neither a module's nor a program's */
	bool outside;
};

struct code {
	struct code_object *objects;
	size_t n_objects, objects_cap;
	struct code_function *functions;
	size_t n_functions, functions_cap;
	struct code_ranges ranges;   /* where modules were */
	uint32_t *of_record;         /* for each record, if it is MAPPED: number of the file's object */
	size_t n_records;
};

/* Where an address is: object, function, offset. */
struct code_place {
	const struct code_object *object; /* NULL: in no object */
	long index;           /* in the object's table; SYMTAB_NONE: without a name */
	uint64_t offset;      /* from the function's start; without a name: in the module's memory, or in the file */
	bool always;          /* the answer is the same at all times of the boot */
};

int code_init(struct code *c, const struct reader *r, struct error *err);
void code_deinit(struct code *c);

/*
 * In a module or an object that is no Linux. `boot` is the number of the boot that is under way then (trace/boots.h).
 */
struct code_place code_in_kernel(const struct code *c, uint64_t addr, uint64_t ns, size_t boot);
/* `record` is the number of the mapping's record. */
struct code_place code_in_file(const struct code *c, const struct code_record *mapping, size_t record, uint64_t addr);

/* Append the name of the function itself, without its object. */
void code_put_name(const struct code_place *place, struct buf *out);

static inline uint32_t code_number(const struct code_place *p)
{
	return p->index == SYMTAB_NONE ? p->object->whole : p->object->numbers[p->index];
}

#endif
