/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unpacks gzip, xz, zstd, lz4, bzip2 and lzma (libarchive does the work). */
#ifndef UPTO_GUEST_UNPACK_H
#define UPTO_GUEST_UNPACK_H

#include "base/buf.h"
#include "base/error.h"

/*
 * Unpack data[0..len) into *ret, at most `limit` bytes. `expected`: how many there should be, 0: not known. The caller
 * owns *ret.
 */
int unpack(const void *data, size_t len, size_t expected, size_t limit, struct buf *ret, struct error *err);

#endif
