/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a trace tells of code that came and went while the guest ran: modules of
 * the kernel, and files that processes mapped (docs/format.md, chunk CODE).
 */
#ifndef UPTO_TRACE_CODE_H
#define UPTO_TRACE_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/error.h"

enum code_change {
	CODE_MODULE = 1, /* a module was loaded, and is about to be initialised */
	CODE_FREED = 2,  /* memory for code in the kernel was given back */
	CODE_MAPPED = 3, /* a process can execute these addresses from now on */
	CODE_CHANGES,
};

struct code_record {
	enum code_change change;
	uint32_t cpu;          /* that it happened on, and the clocks then */
	uint64_t ns, insns;
	uint64_t mm;           /* MAPPED: address of the process's mm_struct */
	uint64_t start, size;  /* MAPPED: which addresses; FREED: its start */
	uint64_t offset;       /* MAPPED: of `start` in the file */
	uint64_t device, inode, file_size; /* MAPPED: which file it is, and how many bytes it has; memory of no file: 0 */
	const char *name;      /* of the module; path of the file, "[vdso]", "" for memory of no file: the guest's bytes */
	const void *symbols;   /* MODULE: its functions at run-time addresses, as in the chunk SYMBOLS */
	size_t symbols_len;
};

void code_record_put(struct buf *out, const struct code_record *record);

struct code_records {
	struct code_record *records;
	size_t count, cap;
};

/* Functions of a file that is mapped, at their offsets in it, as in the chunk SYMBOLS. */
struct code_file {
	const char *path;
	uint64_t size;         /* of the file: another of that path is another one */
	const void *symbols;
	size_t symbols_len;
};

void code_file_put(struct buf *out, const struct code_file *file);

struct code_files {
	struct code_file *list;
	size_t count, cap;
};

/* Add the files of a chunk. What they point to is the table's own. */
int code_files_decode(struct cursor *in, struct code_files *ret, struct error *err);
void code_files_deinit(struct code_files *f);

/* Add the records of a chunk. What they point to is the table's own. */
int code_records_decode(struct cursor *in, struct code_records *ret, struct error *err);
void code_records_deinit(struct code_records *r);

#endif
