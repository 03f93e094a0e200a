/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds a stripped file's symbols: they are in a file of their own, which has the same build-id. */
#ifndef UPTO_SYMBOLS_DEBUG_FILE_H
#define UPTO_SYMBOLS_DEBUG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guest/build_id.h"

/* Does the ELF file lack a symbol table, apart from the one that the dynamic linker needs? */
bool elf_is_stripped(const void *data, size_t len);

/*
 * Find the debug file with a build-id: below one of the folders (as usr/lib/debug/.build-id/…), below the
 * host's /usr/lib/debug, or with `fetch` on a debuginfod server, if DEBUGINFOD_URLS names one. Returns false
 * if there is none. The caller owns *ret.
 */
bool debug_file_find(const struct build_id *id, char *const *folders, size_t n_folders, bool fetch, struct buf *ret);

#endif
