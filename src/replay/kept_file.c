/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kept_file.h"

#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/crc32.h"
#include "base/file.h"
#include "fold.h"

enum { FILE_MAX = 256 << 20, UNPACKED_MAX = 1 << 30, LEVEL = 3 };

/* Behind it is all of it, packed. */
struct header {
	char magic[8];
	uint32_t version, crc; /* crc: of the header of the trace's last chunk */
	uint64_t trace_size;
	uint64_t functions; /* names that the trace had: symbols can be added to it */
	uint64_t folded;    /* of which functions the calls are not shown: fold_print() */
	uint64_t unpacked;
};
static_assert(sizeof(struct header) == 48, "no padding");

static struct header header_of(const struct kept_file *k, const struct session *session)
{
	const struct reader *r = session->reader;
	const struct names *names = session->names;
	struct header h = {
		.version = k->version,
		.trace_size = r->size,
		.functions = names_count(names),
		.folded = fold_print(session->fold, names_count(names)),
		.crc = r->n_chunks ? crc32_of(&r->chunks[r->n_chunks - 1].header, sizeof(struct chunk_header)) : 0,
	};

	memcpy(h.magic, k->magic, sizeof h.magic);
	return h;
}

static char *path_of(const struct kept_file *k, const struct session *session)
{
	return xasprintf("%s%s", session->reader->path, k->suffix);
}

static bool is_ours(const struct buf *file, const struct header *ours, struct header *ret)
{
	struct header want = *ours;

	if (file->len < sizeof want)
		return false;
	memcpy(ret, file->data, sizeof *ret);
	want.unpacked = ret->unpacked;
	return !memcmp(ret, &want, sizeof want) && ret->unpacked <= UNPACKED_MAX;
}

bool kept_file_load(const struct kept_file *k, const struct session *session, struct buf *ret)
{
	struct header ours = header_of(k, session), h;
	cleanup_free char *path = path_of(k, session);
	struct buf file = { 0 };
	struct error ignored;

	*ret = (struct buf){ 0 };
	if (file_read(path, FILE_MAX, &file, &ignored) == 0 && is_ours(&file, &ours, &h)) {
		size_t n;

		buf_reserve(ret, h.unpacked + 1);
		n = ZSTD_decompress(ret->data, h.unpacked, file.data + sizeof h, file.len - sizeof h);
		if (!ZSTD_isError(n) && n == h.unpacked)
			ret->len = n;
	}
	buf_free(&file);
	if (!ret->len)
		buf_free(ret);
	return ret->len;
}

static int write_file(int fd, const struct header *h, const struct buf *packed)
{
	return write_all(fd, h, sizeof *h) < 0 || write_all(fd, packed->data, packed->len) < 0 ? -1 : 0;
}

/* It has no name until it is whole. */
static void store(const char *path, const struct header *h, const struct buf *packed)
{
	char *copy = xstrdup(path), name[64];
	int fd = open(dirname(copy), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);

	free(copy);
	if (fd < 0)
		return;
	if (write_file(fd, h, packed) == 0) {
		snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
		unlink(path);
		/* somebody else may have been sooner, with the same */
		if (linkat(AT_FDCWD, name, AT_FDCWD, path, AT_SYMLINK_FOLLOW) < 0)
			fd = (close(fd), -1);
	}
	if (fd >= 0)
		close(fd);
}

void kept_file_store(const struct kept_file *k, const struct session *session, const struct buf *data)
{
	struct header h = header_of(k, session);
	cleanup_free char *path = path_of(k, session);
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	struct buf packed = { 0 };
	size_t n;

	h.unpacked = data->len;
	buf_reserve(&packed, ZSTD_compressBound(data->len));
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, LEVEL);
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
	n = ZSTD_compress2(zstd, packed.data, packed.cap, data->data, data->len);
	if (!ZSTD_isError(n) && data->len <= UNPACKED_MAX) {
		packed.len = n;
		store(path, &h, &packed);
	}
	ZSTD_freeCCtx(zstd);
	buf_free(&packed);
}
