/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sysroot.h"

#include <blkid/blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sysroot_kinds.h"

enum {
	SECTOR = 512,
	/* Documentation/filesystems/ext4/super.rst */
	EXT_MAGIC_AT = 1024 + 0x38, EXT_MAGIC = 0xef53,
	TYPE_MAX = 32,
};

static bool is_ext(int fd, uint64_t offset)
{
	uint8_t magic[2];

	return offset <= INT64_MAX - EXT_MAGIC_AT &&
	       pread(fd, magic, sizeof magic, (off_t)offset + EXT_MAGIC_AT) == sizeof magic &&
	       (magic[0] | magic[1] << 8) == EXT_MAGIC;
}

/* The type of the file system there, by blkid; false: it is none that it knows. `size` 0: up to the end. */
static bool type_of(int fd, uint64_t offset, uint64_t size, char type[TYPE_MAX])
{
	blkid_probe probe = blkid_new_probe();
	const char *found = NULL;
	bool known = probe && blkid_probe_set_device(probe, fd, (blkid_loff_t)offset, (blkid_loff_t)size) == 0 &&
		     blkid_do_safeprobe(probe) == 0 && blkid_probe_lookup_value(probe, "TYPE", &found, NULL) == 0;

	snprintf(type, TYPE_MAX, "%s", known ? found : "");
	blkid_free_probe(probe);
	return known;
}

static bool is_to_unpack(int fd, uint64_t offset, uint64_t size, char type[TYPE_MAX])
{
	return type_of(fd, offset, size, type) && sysroot_unpacks(type);
}

/* Search a partition. False: it is nothing that is read, or, with an error, cannot be. */
static bool search_partition(const char *root, int fd, uint64_t start, uint64_t size, const struct search *s,
			     struct error *err)
{
	char type[TYPE_MAX];

	if (is_ext(fd, start)) {
		search_ext(root, start, s, err);
		return true;
	}
	return is_to_unpack(fd, start, size, type) &&
	       search_unpacked(root, fd, &(struct sysroot_part){ .type = type, .offset = start, .size = size }, s,
			       err) == 0;
}

/* Search the disk's partitions. *ret_found: how many could be read. A damaged partition does not end the search. */
static void search_partitions(const char *root, int fd, const struct search *s, unsigned *ret_found, struct error *err)
{
	blkid_probe probe = blkid_new_probe();
	blkid_partlist list = NULL;

	*ret_found = 0;
	if (probe && blkid_probe_set_device(probe, fd, 0, 0) == 0 && blkid_probe_enable_partitions(probe, 1) == 0)
		list = blkid_probe_get_partitions(probe);
	for (int i = 0; list && i < blkid_partlist_numof_partitions(list); i++) {
		blkid_partition partition = blkid_partlist_get_partition(list, i);
		blkid_loff_t start = blkid_partition_get_start(partition), size = blkid_partition_get_size(partition);

		if (start > 0 && start < INT64_MAX / SECTOR && size > 0 && size < INT64_MAX / SECTOR)
			*ret_found += search_partition(root, fd, (uint64_t)start * SECTOR, (uint64_t)size * SECTOR, s,
						       err);
	}
	blkid_free_probe(probe);
}

static bool is_qcow(int fd)
{
	uint8_t magic[4]; /* docs/interop/qcow2.rst of QEMU */

	return pread(fd, magic, sizeof magic, 0) == sizeof magic && !memcmp(magic, "QFI\xfb", sizeof magic);
}

/* Say what it is that cannot be read, and what makes it something that can; *err stays if that is not known. */
static void tell_kind(const char *root, int fd, struct error *err)
{
	char type[TYPE_MAX];

	if (is_qcow(fd))
		error_set(err,
			  "%s: a qcow2 image, which is not read: 'qemu-img convert -O raw' makes a disk of it that is",
			  root);
	else if (type_of(fd, 0, 0, type))
		error_set(err, "%s: %s is not read, only ext4, squashfs, erofs and btrfs are: mount or unpack it, "
			       "and give that folder", root, type);
}

static int search(const char *root, const struct search *s, struct error *err)
{
	int fd = open(root, O_RDONLY | O_CLOEXEC | O_NONBLOCK), r = 0;
	struct error of_partition = { 0 };
	char type[TYPE_MAX];
	unsigned partitions;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0) {
		error_set(err, "%s: %s", root, strerror(errno));
		r = -1;
	} else if (S_ISDIR(st.st_mode)) {
		r = search_folder(root, s, err);
	} else if (is_ext(fd, 0)) {
		r = search_ext(root, 0, s, err);
	} else if (is_to_unpack(fd, 0, 0, type)) {
		r = search_unpacked(root, fd, &(struct sysroot_part){ .type = type }, s, err);
	} else {
		search_partitions(root, fd, s, &partitions, &of_partition);
		r = partitions ? 0 : search_archives(root, s, err);
		if (r < 0)
			tell_kind(root, fd, err);
		if (r < 0 && *of_partition.text)
			*err = of_partition;
	}
	if (fd >= 0)
		close(fd);
	return r;
}

int sysroot_search(const char *root, struct wanted_file *files, size_t count,
		   bool (*take)(void *state, const struct wanted_file *file, const struct buf *data), void *state,
		   struct error *err)
{
	return search(root, &(struct search){ .files = files, .count = count, .take = take, .state = state }, err);
}

int sysroot_walk(const char *root, const struct sysroot_visitor *visitor, struct error *err)
{
	return search(root, &(struct search){ .visitor = visitor }, err);
}
