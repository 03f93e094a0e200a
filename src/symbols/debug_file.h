/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A stripped file's symbols, kept apart from it and found by its build-id. */
#ifndef UPTO_SYMBOLS_DEBUG_FILE_H
#define UPTO_SYMBOLS_DEBUG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum { BUILD_ID_MAX = 64 };

struct build_id {
	uint8_t bytes[BUILD_ID_MAX];
	size_t len;           /* 0: the file has none */
};

/* Of an ELF file. */
void build_id_of(const void *data, size_t len, struct build_id *ret);

/* Does the ELF file lack a symbol table of its own, but for what its linker needs? */
bool elf_is_stripped(const void *data, size_t len);

/*
 * Its debug file: below one of the folders (as usr/lib/debug/.build-id/…), below
 * /usr/lib/debug here, or with `fetch` from a debuginfod server if DEBUGINFOD_URLS names
 * one. False: there is none. The caller owns *ret.
 */
bool debug_file_find(const struct build_id *id, char *const *folders, size_t n_folders, bool fetch, struct buf *ret);

#endif
