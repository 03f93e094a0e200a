/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the guest's files on the host: from a folder, from the image of an ext2, ext3 or ext4 file system, or, by the
 * distribution's tools, which unpack them for a moment, of a squashfs, erofs or btrfs, from a disk image with such file
 * systems in its partitions, or from an initramfs. Nothing is mounted.
 */
#ifndef UPTO_GUEST_SYSROOT_H
#define UPTO_GUEST_SYSROOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

/* A file to look for: its path in the guest, and its size in bytes. */
struct wanted_file {
	const char *path;
	uint64_t size;
	bool found;
};

/*
 * Look for the files whose `found` is not set, and call `take` for each one found; `data` is valid only during that
 * call. It returns whether that is the file that is wanted: then `found` is set. Fails only if the root itself cannot
 * be read; the error names it.
 */
int sysroot_search(const char *root, struct wanted_file *files, size_t count,
		   bool (*take)(void *state, const struct wanted_file *file, const struct buf *data), void *state,
		   struct error *err);

/* A file that a root has. */
struct guest_file {
	const char *path;     /* from the root */
	uint64_t size;
	uint64_t inode;       /* in an image of a file system; else 0 */
};

/*
 * Is shown all files of a root, or of one of its folders. `take` gets those that are wanted; `data` is valid only
 * during that call.
 */
struct sysroot_visitor {
	bool (*wants)(void *state, const struct guest_file *file);
	void (*take)(void *state, const struct guest_file *file, const struct buf *data);
	void *state;
	const char *below; /* no others need be shown than those in this folder, "/var/lib"; NULL: all of the root */
};

/* Show all files of a root, in any order. Links are not followed. Fails as above. */
int sysroot_walk(const char *root, const struct sysroot_visitor *visitor, struct error *err);

#endif
