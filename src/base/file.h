/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whole files in memory, and files that only this process knows. */
#ifndef UPTO_BASE_FILE_H
#define UPTO_BASE_FILE_H

#include <stdbool.h>

#include "buf.h"
#include "error.h"

/* Read a regular file of at most `limit` bytes. The caller owns *ret_data. */
int file_read(const char *path, size_t limit, struct buf *ret_data, struct error *err);

/* Write all n bytes, going on after signals and short writes. Returns 0 or -errno. */
int write_all(int fd, const void *data, size_t n);

/* Make a file with its folders, as a whole or not at all, in place of one that is there. Returns 0 or -errno. */
int file_keep(const char *path, const void *data, size_t n);

/* A file without a name, where files may be large: $TMPDIR, else /var/tmp. -1: see errno. */
int file_open_temporary(void);

/* pread() or pwrite() all of it. Returns 0 or an errno: EIO also where the file ends first. */
int file_transfer(int fd, bool write, void *data, size_t n, uint64_t at);

#endif
