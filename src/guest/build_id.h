/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The number that a linker gives to what it made (NT_GNU_BUILD_ID, --build-id): a stripped file and its debug file have
 * the same one, and so have a vmlinux and the bzImage that was made of it.
 */
#ifndef UPTO_GUEST_BUILD_ID_H
#define UPTO_GUEST_BUILD_ID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum { BUILD_ID_MAX = 64 };

struct build_id {
	uint8_t bytes[BUILD_ID_MAX];
	size_t len;           /* 0: the file has none */
};

/* Read the build-id of an ELF file. */
void build_id_of(const void *data, size_t len, struct build_id *ret);

/* Two that are not known are not the same. */
bool build_id_same(const struct build_id *a, const struct build_id *b);

/* Append it as text: "5f2c…". */
void build_id_put(const struct build_id *id, struct buf *out);

#endif
