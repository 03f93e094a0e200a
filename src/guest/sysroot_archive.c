/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <archive.h>
#include <archive_entry.h>
#include <stdlib.h>
#include <zstd.h>

#include "base/file.h"
#include "sysroot_kinds.h"

enum { ARCHIVE_MAX = 1 << 30 };

/* "./bin/sh", "bin/sh" → "/bin/sh" */
static const char *rooted(const char *name, struct buf *out)
{
	while (!strncmp(name, "./", 2) || *name == '/')
		name += *name == '/' ? 1 : 2;
	out->len = 0;
	buf_printf(out, "/%s", name);
	return (char *)out->data;
}

static void read_entry(struct archive *a, uint64_t size, struct buf *out)
{
	la_ssize_t n;

	buf_reserve(out, size + 1);
	while (out->len < size && (n = archive_read_data(a, out->data + out->len, size - out->len)) > 0)
		out->len += (size_t)n;
}

static void look_up(struct archive *a, const char *path, uint64_t size, const struct search *s)
{
	struct wanted_file *f = NULL;
	struct buf data = { 0 };

	for (size_t i = 0; i < s->count && !f; i++)
		if (search_wants(&s->files[i]) && s->files[i].size == size && !strcmp(s->files[i].path, path))
			f = &s->files[i];
	if (!f)
		return;
	read_entry(a, size, &data);
	search_hand_over(s, f, &data);
	buf_free(&data);
}

static void visit(struct archive *a, const char *path, uint64_t size, const struct search *s)
{
	const struct guest_file f = { .path = path, .size = size };
	struct buf data = { 0 };

	if (!search_visits(s, &f))
		return;
	read_entry(a, size, &data);
	search_visit(s, &f, &data);
	buf_free(&data);
}

static void take_entry(struct archive *a, const char *path, uint64_t size, const struct search *s)
{
	if (s->visitor)
		visit(a, path, size, s);
	else
		look_up(a, path, size, s);
}

/* Adds how many entries there are to *n_entries. *ret_packed: it was a compressed cpio archive. */
static int search_archive(const char *root, const uint8_t *data, size_t len, const struct search *s, size_t *n_entries,
			  bool *ret_packed, struct error *err)
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
		++*n_entries;
		name = archive_entry_pathname(entry);
		if (name && archive_entry_filetype(entry) == AE_IFREG && archive_entry_size(entry) > 0)
			take_entry(a, rooted(name, &path), (uint64_t)archive_entry_size(entry), s);
		if (!search_wants_any(s))
			r = ARCHIVE_EOF;
	}
	if (r != ARCHIVE_EOF)
		error_set(err, "%s: no folder, ext4 image or initramfs: %s", root, archive_error_string(a));
	*ret_packed = archive_filter_code(a, 0) != ARCHIVE_FILTER_NONE &&
		      (archive_format(a) & ARCHIVE_FORMAT_BASE_MASK) == ARCHIVE_FORMAT_CPIO;
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
	return (uint32_t)strtoul(digits, NULL, 16); /* it takes a sign, too */
}

/* Size in bytes of the uncompressed cpio archive at the start, with the zeros behind it; 0: none is there. */
static size_t plain_archive(const uint8_t *data, size_t len)
{
	size_t at = 0;

	while (len - at > CPIO_HEADER && (!memcmp(data + at, "070701", 6) || !memcmp(data + at, "070702", 6))) {
		uint64_t name = hexadecimal(data + at + CPIO_NAME_SIZE), size = hexadecimal(data + at + CPIO_FILE_SIZE);
		uint64_t step = ((CPIO_HEADER + name + 3) & ~UINT64_C(3)) + ((size + 3) & ~UINT64_C(3));
		bool last = name == 11 && len - at >= CPIO_HEADER + 11 &&
			    !memcmp(data + at + CPIO_HEADER, "TRAILER!!!", 11);

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

/* For libarchive, what is behind frames of zstd and is none is an error, which loses the end of what they had. */
static size_t without_others(const uint8_t *data, size_t len)
{
	size_t frames = 0, n;

	while (frames < len && !ZSTD_isError(n = ZSTD_findFrameCompressedSize(data + frames, len - frames)))
		frames += n;
	return frames ? frames : len;
}

/* Unpack what begins there, as far as it goes. Returns how many bytes that was made of. */
static size_t unpack_begin(const uint8_t *data, size_t len, struct buf *out)
{
	enum { STEP = 1 << 20 };
	struct archive *a = archive_read_new();
	struct archive_entry *entry;
	la_ssize_t n = 0;
	la_int64_t used;

	archive_read_support_filter_all(a);
	archive_read_support_format_raw(a);
	if (archive_read_open_memory(a, data, len) == ARCHIVE_OK && archive_read_next_header(a, &entry) == ARCHIVE_OK)
		do {
			out->len += (size_t)n;
			buf_reserve(out, STEP);
			n = archive_read_data(a, out->data + out->len, STEP);
		} while (n > 0 && out->len < ARCHIVE_MAX);
	used = archive_filter_bytes(a, -1);
	archive_read_free(a);
	return used > 0 && (size_t)used < len ? (size_t)used : len;
}

/* Search the archives that are compressed together, but the first. Returns as above, with the zeros behind them. */
static size_t search_packed(const char *root, const uint8_t *data, size_t len, const struct search *s,
			    size_t *n_entries)
{
	struct buf out = { 0 };
	size_t used = unpack_begin(data, without_others(data, len), &out), at = plain_archive(out.data, out.len), n;
	struct error ignored;
	bool packed;

	while (at && (n = plain_archive(out.data + at, out.len - at))) {
		search_archive(root, out.data + at, n, s, n_entries, &packed, &ignored);
		at += n;
	}
	buf_free(&out);
	while (used < len && !data[used])
		used++;
	return used;
}

/* Search the archives from *at on, up to the first compressed one, where *at is then. */
static int search_next(const char *root, const struct buf *data, size_t *at, const struct search *s, size_t *n_entries,
		       bool *ret_packed, struct error *err)
{
	size_t n;
	int r = 0;

	*ret_packed = false;
	while (r == 0 && (n = plain_archive(data->data + *at, data->len - *at)) && n < data->len - *at) {
		r = search_archive(root, data->data + *at, n, s, n_entries, ret_packed, err);
		*at += n;
	}
	n = without_others(data->data + *at, data->len - *at);
	return r ? r : search_archive(root, data->data + *at, n, s, n_entries, ret_packed, err);
}

/*
 * An initramfs may be any number of archives one behind the other, compressed or not: init/initramfs.c. What is behind
 * a compressed one, and is none, is passed over.
 */
int search_archives(const char *root, const struct search *s, struct error *err)
{
	struct buf data = { 0 };
	struct error ignored;
	size_t at = 0, n_entries = 0;
	bool packed;
	int r = file_read(root, ARCHIVE_MAX, &data, err);

	if (r == 0)
		r = search_next(root, &data, &at, s, &n_entries, &packed, err);
	while (r == 0 && packed && search_wants_any(s)) {
		at += search_packed(root, data.data + at, data.len - at, s, &n_entries);
		if (at == data.len || search_next(root, &data, &at, s, &n_entries, &packed, &ignored) < 0)
			break;
	}
	/* for libarchive, zeros are a tar archive that ends */
	if (r == 0 && !n_entries)
		r = error_set(err, "%s: no folder, ext4 image or initramfs: no file is in it", root);
	buf_free(&data);
	return r;
}
