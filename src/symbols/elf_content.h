/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares files by what a trace has of their content, and reads the same out of a process's memory. */
#ifndef UPTO_SYMBOLS_ELF_CONTENT_H
#define UPTO_SYMBOLS_ELF_CONTENT_H

#include "elf_loaded.h"
#include "trace/content.h"

/* Where a piece of a file is mapped that can be executed. */
struct elf_mapping {
	uint64_t start, size, offset;
};

enum elf_id {
	ELF_ID_READ,
	ELF_ID_NONE,   /* an ELF file that has none where it would be loaded */
	ELF_ID_NOT_ELF,
	ELF_ID_ABSENT, /* the memory that would tell is not there */
};

/*
 * Read the build-id of the file whose first byte is at `base`: of a 64-bit file, out of a note that is loaded together
 * with the file's first byte, so that the answer is the same for a file and for the memory that it is mapped to.
 * `mapping`, unless it is NULL, must be one of that file's by its headers; else what is at `base` counts as no ELF
 * file.
 */
enum elf_id elf_build_id(uint64_t base, const struct elf_mapping *mapping, memory_reader read, void *state,
			 struct content *ret);

/* Is that the file? Only if something is known of its content. */
bool elf_content_fits(const struct content *c, const void *data, size_t len);

#endif
