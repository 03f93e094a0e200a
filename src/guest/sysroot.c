/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sysroot.h"

#include <archive.h>
#include <archive_entry.h>
#include <blkid/blkid.h>
#include <errno.h>
#include <ext2fs/ext2fs.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"

enum {
	FILE_MAX = 512 << 20,
	STEP = 1 << 18,
	ARCHIVE_MAX = 1 << 30,
	SECTOR = 512,
	/* Documentation/filesystems/ext4/super.rst */
	EXT_MAGIC_AT = 1024 + 0x38, EXT_MAGIC = 0xef53,
};

struct search {
	struct wanted_file *files;
	size_t count;
	void (*take)(void *state, const struct wanted_file *file, const struct buf *data);
	void *state;
};

static bool is_wanted(const struct wanted_file *f)
{
	return !f->found && *f->path == '/' && f->size && f->size <= FILE_MAX;
}

static bool any_wanted(const struct search *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (is_wanted(&s->files[i]))
			return true;
	return false;
}

static void hand_over(struct search *s, struct wanted_file *f, const struct buf *data)
{
	f->found = data->len == f->size;
	if (f->found)
		s->take(s->state, f, data);
}

/* Symbolic links are followed as in the guest: `/` is the root of the sysroot. */
static int open_in(int root, const char *path)
{
	struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK, .resolve = RESOLVE_IN_ROOT };

	return (int)syscall(SYS_openat2, root, path, &how, sizeof how);
}

static void read_fd(int fd, uint64_t size, struct buf *out)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size != size)
		return;
	buf_reserve(out, size);
	while (out->len < size) {
		ssize_t n = read(fd, out->data + out->len, size - out->len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		out->len += (size_t)n;
	}
}

static int search_folder(const char *root, struct search *s, struct error *err)
{
	int folder = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (folder < 0)
		return error_set(err, "%s: %s", root, strerror(errno));
	for (size_t i = 0; i < s->count; i++) {
		struct buf data = { 0 };
		int fd = is_wanted(&s->files[i]) ? open_in(folder, s->files[i].path) : -1;

		if (fd < 0)
			continue;
		read_fd(fd, s->files[i].size, &data);
		hand_over(s, &s->files[i], &data);
		buf_free(&data);
		close(fd);
	}
	close(folder);
	return 0;
}

static void read_inode(ext2_filsys fs, ext2_ino_t number, uint64_t size, struct buf *out)
{
	struct ext2_inode inode;
	ext2_file_t file;
	unsigned n;

	if (ext2fs_read_inode(fs, number, &inode) || !LINUX_S_ISREG(inode.i_mode) || EXT2_I_SIZE(&inode) != size ||
	    ext2fs_file_open(fs, number, 0, &file))
		return;
	buf_reserve(out, size);
	while (out->len < size && !ext2fs_file_read(file, out->data + out->len,
						    (unsigned)(size - out->len < STEP ? size - out->len : STEP), &n) && n)
		out->len += n;
	ext2fs_file_close(file);
}

/* `offset` is where the file system begins in the image, in bytes. */
static int search_ext(const char *root, uint64_t offset, struct search *s, struct error *err)
{
	ext2_filsys fs;
	char where[32];
	errcode_t r;

	snprintf(where, sizeof where, "offset=%" PRIu64, offset);
	r = ext2fs_open2(root, where, EXT2_FLAG_64BITS | EXT2_FLAG_IGNORE_CSUM_ERRORS, 0, 0, unix_io_manager, &fs);

	if (r)
		return error_set(err, "%s: damaged file system (libext2fs: error %ld)", root, (long)r);
	for (size_t i = 0; i < s->count; i++) {
		struct buf data = { 0 };
		ext2_ino_t number;

		if (!is_wanted(&s->files[i]) || ext2fs_namei_follow(fs, EXT2_ROOT_INO, EXT2_ROOT_INO, s->files[i].path, &number))
			continue;
		read_inode(fs, number, s->files[i].size, &data);
		hand_over(s, &s->files[i], &data);
		buf_free(&data);
	}
	ext2fs_close_free(&fs);
	return 0;
}

/* "./bin/sh", "bin/sh" → "/bin/sh" */
static const char *rooted(const char *name, struct buf *out)
{
	while (!strncmp(name, "./", 2) || *name == '/')
		name += *name == '/' ? 1 : 2;
	out->len = 0;
	buf_printf(out, "/%s", name);
	return (char *)out->data;
}

static void take_entry(struct archive *a, const char *path, uint64_t size, struct search *s)
{
	struct wanted_file *f = NULL;
	struct buf data = { 0 };
	la_ssize_t n;

	for (size_t i = 0; i < s->count && !f; i++)
		if (is_wanted(&s->files[i]) && s->files[i].size == size && !strcmp(s->files[i].path, path))
			f = &s->files[i];
	if (!f)
		return;
	buf_reserve(&data, size + 1);
	while (data.len < size && (n = archive_read_data(a, data.data + data.len, size - data.len)) > 0)
		data.len += (size_t)n;
	hand_over(s, f, &data);
	buf_free(&data);
}

static int search_archive(const char *root, const uint8_t *data, size_t len, struct search *s, struct error *err)
{
	struct archive *a = archive_read_new();
	struct archive_entry *entry;
	struct buf path = { 0 };
	int r;

	archive_read_support_filter_all(a);
	archive_read_support_format_cpio(a);
	archive_read_support_format_tar(a);
	r = archive_read_open_memory(a, data, len);
	/* stop after the last wanted file: the rest need not be unpacked */
	while (r == ARCHIVE_OK || r == ARCHIVE_WARN) {
		const char *name;

		r = archive_read_next_header(a, &entry);
		if (r != ARCHIVE_OK && r != ARCHIVE_WARN)
			break;
		name = archive_entry_pathname(entry);
		if (name && archive_entry_filetype(entry) == AE_IFREG && archive_entry_size(entry) > 0)
			take_entry(a, rooted(name, &path), (uint64_t)archive_entry_size(entry), s);
		if (!any_wanted(s))
			r = ARCHIVE_EOF;
	}
	if (r != ARCHIVE_EOF)
		error_set(err, "%s: no folder, ext4 image or initramfs: %s", root, archive_error_string(a));
	archive_read_free(a);
	buf_free(&path);
	return r == ARCHIVE_EOF ? 0 : -1;
}

/* The header of a file in a cpio archive: Documentation/driver-api/early-userspace/buffer-format.rst. */
enum { CPIO_HEADER = 110, CPIO_FILE_SIZE = 54, CPIO_NAME_SIZE = 94 };

static uint64_t hexadecimal(const uint8_t *text)
{
	char digits[9] = "";

	memcpy(digits, text, 8);
	return strtoul(digits, NULL, 16);
}

/* Size in bytes of the uncompressed cpio archive at the start, with the zeros behind it; 0: none is there. */
static size_t plain_archive(const uint8_t *data, size_t len)
{
	size_t at = 0;

	while (len - at > CPIO_HEADER && (!memcmp(data + at, "070701", 6) || !memcmp(data + at, "070702", 6))) {
		uint64_t name = hexadecimal(data + at + CPIO_NAME_SIZE), size = hexadecimal(data + at + CPIO_FILE_SIZE);
		uint64_t step = ((CPIO_HEADER + name + 3) & ~UINT64_C(3)) + ((size + 3) & ~UINT64_C(3));
		bool last = name == 11 && len - at >= CPIO_HEADER + 11 && !memcmp(data + at + CPIO_HEADER, "TRAILER!!!", 11);

		if (step > len - at)
			return 0;
		at += step;
		if (last)
			break;
	}
	while (at && at < len && !data[at])
		at++;
	return at;
}

/* An initramfs may be several archives one behind the other, of which only the last one is compressed. */
static int search_archives(const char *root, struct search *s, struct error *err)
{
	struct buf data = { 0 };
	size_t at = 0, n;
	int r = file_read(root, ARCHIVE_MAX, &data, err);

	while (r == 0 && (n = plain_archive(data.data + at, data.len - at)) && n < data.len - at) {
		r = search_archive(root, data.data + at, n, s, err);
		at += n;
	}
	if (r == 0)
		r = search_archive(root, data.data + at, data.len - at, s, err);
	buf_free(&data);
	return r;
}

static bool is_ext(int fd, uint64_t offset)
{
	uint8_t magic[2];

	return offset <= INT64_MAX - EXT_MAGIC_AT &&
	       pread(fd, magic, sizeof magic, (off_t)offset + EXT_MAGIC_AT) == sizeof magic &&
	       (magic[0] | magic[1] << 8) == EXT_MAGIC;
}

/* Search the disk's partitions. *ret_found: how many could be read. A damaged partition does not end the search. */
static void search_partitions(const char *root, int fd, struct search *s, unsigned *ret_found)
{
	blkid_probe probe = blkid_new_probe();
	blkid_partlist list = NULL;
	struct error ignored;

	*ret_found = 0;
	if (probe && blkid_probe_set_device(probe, fd, 0, 0) == 0 && blkid_probe_enable_partitions(probe, 1) == 0)
		list = blkid_probe_get_partitions(probe);
	for (int i = 0; list && i < blkid_partlist_numof_partitions(list); i++) {
		blkid_loff_t start = blkid_partition_get_start(blkid_partlist_get_partition(list, i));

		if (start > 0 && start < INT64_MAX / SECTOR && is_ext(fd, (uint64_t)start * SECTOR)) {
			search_ext(root, (uint64_t)start * SECTOR, s, &ignored);
			++*ret_found;
		}
	}
	blkid_free_probe(probe);
}

int sysroot_search(const char *root, struct wanted_file *files, size_t count,
		   void (*take)(void *state, const struct wanted_file *file, const struct buf *data), void *state,
		   struct error *err)
{
	struct search s = { .files = files, .count = count, .take = take, .state = state };
	int fd = open(root, O_RDONLY | O_CLOEXEC | O_NONBLOCK), r = 0;
	unsigned partitions;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0) {
		error_set(err, "%s: %s", root, strerror(errno));
		r = -1;
	} else if (S_ISDIR(st.st_mode)) {
		r = search_folder(root, &s, err);
	} else if (is_ext(fd, 0)) {
		r = search_ext(root, 0, &s, err);
	} else {
		search_partitions(root, fd, &s, &partitions);
		r = partitions ? 0 : search_archives(root, &s, err);
	}
	if (fd >= 0)
		close(fd);
	return r;
}
