/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whole files in memory. */
#ifndef UPTO_BASE_FILE_H
#define UPTO_BASE_FILE_H

#include "buf.h"
#include "error.h"

/* Read a regular file of at most `limit` bytes. The caller owns *ret_data. */
int file_read(const char *path, size_t limit, struct buf *ret_data, struct error *err);

/* Write all n bytes, going on after signals and short writes. Returns 0 or -errno. */
int write_all(int fd, const void *data, size_t n);

/* Make a file with its folders, as a whole or not at all, in place of one that is there. Returns 0 or -errno. */
int file_keep(const char *path, const void *data, size_t n);

#endif
