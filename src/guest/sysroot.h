/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guest's files as the host has them: a folder, the image of an ext2, ext3 or
 * ext4 file system, or of a disk with such ones in its partitions, or an
 * initramfs. Nothing is mounted, nothing is written.
 */
#ifndef UPTO_GUEST_SYSROOT_H
#define UPTO_GUEST_SYSROOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

/* A file to be found: of that path in the guest, and that many bytes. */
struct wanted_file {
	const char *path;
	uint64_t size;
	bool found;
};

/*
 * Look for those that are not found yet. `take` gets each of them as it comes;
 * the data is only lent. An error when the root itself cannot be read: it names it.
 */
int sysroot_search(const char *root, struct wanted_file *files, size_t count,
		   void (*take)(void *state, const struct wanted_file *file, const struct buf *data), void *state,
		   struct error *err);

#endif
