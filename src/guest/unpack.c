/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <string.h>
#include <zstd.h>

static int read_raw(struct archive *a, size_t expected, size_t limit, struct buf *out, struct error *err)
{
	enum { STEP = 1 << 20 };

	if (expected < limit)
		buf_reserve(out, expected + STEP);

	for (;;) {
		la_ssize_t n;

		buf_reserve(out, STEP);
		n = archive_read_data(a, out->data + out->len, STEP);
		if (n == 0)
			return 0;
		if (n < 0)
			return error_set(err, "%s", archive_error_string(a));
		out->len += (size_t)n;
		if (out->len > limit)
			return error_set(err, "unpacks to more than %zu bytes", limit);
	}
}

/* As kernels of distributions are packed. In one go it needs no window beside what it makes: that may be 128 MB. */
static bool is_zstd(const void *data, size_t len)
{
	static const uint8_t magic[] = { 0x28, 0xb5, 0x2f, 0xfd };

	return len >= sizeof magic && !memcmp(data, magic, sizeof magic);
}

static int unpack_zstd(const void *data, size_t len, size_t expected, struct buf *ret, struct error *err)
{
	struct buf out = { 0 };
	size_t n;

	buf_reserve(&out, expected);
	n = ZSTD_decompress(out.data, out.cap, data, len);
	if (ZSTD_isError(n)) {
		buf_free(&out);
		return error_set(err, "%s", ZSTD_getErrorName(n));
	}
	out.len = n;
	*ret = out;
	return 0;
}

int unpack(const void *data, size_t len, size_t expected, size_t limit, struct buf *ret, struct error *err)
{
	struct archive_entry *entry;
	struct buf out = { 0 };
	struct archive *a;
	int r = -1;

	if (expected && expected <= limit && is_zstd(data, len))
		return unpack_zstd(data, len, expected, ret, err);
	a = archive_read_new();
	if (!a)
		return error_set(err, "libarchive: cannot start");
	archive_read_support_filter_gzip(a);
	archive_read_support_filter_xz(a);
	archive_read_support_filter_lzma(a);
	archive_read_support_filter_bzip2(a);
	archive_read_support_filter_zstd(a);
	archive_read_support_filter_lz4(a);
	archive_read_support_format_raw(a);
	if (archive_read_open_memory(a, data, len) != ARCHIVE_OK ||
	    archive_read_next_header(a, &entry) != ARCHIVE_OK)
		error_set(err, "%s", archive_error_string(a) ? archive_error_string(a) : "not compressed data");
	else
		r = read_raw(a, expected, limit, &out, err);
	archive_read_free(a);
	if (r < 0)
		buf_free(&out);
	else
		*ret = out;
	return r;
}
