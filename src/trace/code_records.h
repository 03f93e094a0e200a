/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of code that was loaded, mapped or freed while the guest ran: modules of
 * the kernel, and files that processes mapped (docs/format.md, chunks CODE and FILES).
 */
#ifndef UPTO_TRACE_CODE_RECORDS_H
#define UPTO_TRACE_CODE_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/error.h"

enum code_change {
	CODE_MODULE = 1, /* a module was loaded, and is about to be initialised */
	CODE_FREED = 2,  /* the kernel freed memory that held code */
	CODE_MAPPED = 3, /* a process can execute these addresses from now on */
	CODE_CONTENT = 4, /* what a file is that was mapped: content.h */
	CODE_CHANGES,
};

struct code_record {
	enum code_change change;
	uint32_t cpu;          /* the vCPU that it happened on, and its clocks */
	uint64_t ns, insns;
	uint64_t mm;           /* MAPPED, CONTENT: address of the process's mm_struct */
	/*
	 * MAPPED: the addresses; FREED: only the start; CONTENT: the start of the mapping, and the content's number,
	 * from 1 on
	 */
	uint64_t start, size;
	uint64_t offset;       /* MAPPED: offset of `start` in the file */
	uint64_t device, inode, file_size; /* MAPPED: the file and its size in bytes; 0 for memory without a file */
	bool is_object;        /* MODULE: it is none of Linux, but code of firmware, a boot loader or another kernel */
	/* name of the module, or path of the file ("[vdso]"; "" for memory without a file), in the guest's bytes */
	const char *name;
	/*
	 * MODULE: its functions at run-time addresses, encoded as in the chunk SYMBOLS; CONTENT: what is new of it, by
	 * content_put()
	 */
	const void *symbols;
	size_t symbols_len;
};

void code_record_put(struct buf *out, const struct code_record *record);

struct code_records {
	struct code_record *records;
	size_t count, cap;
};

/* Functions of a mapped file at their offsets in the file, encoded as in the chunk SYMBOLS. */
struct code_file {
	const char *path;
	uint64_t size;         /* of the file */
	const uint64_t *contents; /* their numbers: it is the file of all mappings with these */
	size_t n_contents;     /* 0: it is that of mappings with its path and size of whose content nothing is known */
	const void *symbols;
	size_t symbols_len;
};

void code_file_put(struct buf *out, const struct code_file *file);

struct code_files {
	struct code_file *list;
	size_t count, cap;
};

/* Add the files of a chunk, at most `max`. *ret owns copies of what they point to. */
int code_files_decode(struct cursor *in, size_t max, struct code_files *ret, struct error *err);
void code_files_deinit(struct code_files *f);

/* Add the records of a chunk, at most `max`. *ret owns copies of what they point to. */
int code_records_decode(struct cursor *in, size_t max, struct code_records *ret, struct error *err);
void code_records_deinit(struct code_records *r);

#endif
