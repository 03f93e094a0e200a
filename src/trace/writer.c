/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

#include "base/crc32.h"
#include "base/file.h"

int writer_init(struct writer *w, int fd)
{
	struct file_header header = { .magic = FORMAT_MAGIC, .version = FORMAT_VERSION };
	int r;

	header.crc = crc32_of(&header, offsetof(struct file_header, crc));
	*w = (struct writer){ .fd = fd, .zstd = ZSTD_createCCtx() };
	if (!w->zstd)
		return -ENOMEM;
	r = write_all(fd, &header, sizeof header);
	if (r == 0)
		w->size = sizeof header;
	return r;
}

int writer_resume(struct writer *w, int fd, uint64_t offset, uint64_t number)
{
	*w = (struct writer){ .fd = fd, .size = offset, .number = number, .zstd = ZSTD_createCCtx() };
	if (!w->zstd)
		return -ENOMEM;
	return lseek(fd, (off_t)offset, SEEK_SET) < 0 ? -errno : 0;
}

void writer_deinit(struct writer *w)
{
	ZSTD_freeCCtx(w->zstd);
	buf_free(&w->packed);
}

/* There is room for the header before it. */
int writer_pack(struct writer *w, struct chunk_header *header, const struct buf *payload, int level, struct buf *out)
{
	size_t n;

	header->unpacked = (uint32_t)payload->len;
	out->len = 0;
	buf_reserve(out, sizeof(struct chunk_header) + ZSTD_compressBound(payload->len));
	ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, level);
	ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_checksumFlag, 1);
	n = ZSTD_compress2(w->zstd, out->data + sizeof(struct chunk_header), out->cap - sizeof(struct chunk_header),
			   payload->data, payload->len);
	if (ZSTD_isError(n))
		return -EIO;
	out->len = sizeof(struct chunk_header) + n;
	return 0;
}

static int fail(struct writer *w, int r)
{
	__atomic_store_n(&w->failed, -r, __ATOMIC_RELAXED);
	if (ftruncate(w->fd, (off_t)w->size) == 0)
		lseek(w->fd, (off_t)w->size, SEEK_SET);
	return r;
}

/*
 * Keep room behind the chunks for an END: when the disk is full, what the next chunk had got of it is given back, and
 * END can be written. Behind an END nothing is kept. Where files cannot have such room, END may not fit.
 */
static int keep_room(struct writer *w, const struct chunk_header *h, uint64_t size)
{
	enum { END_ROOM = 1 << 14 };

	if (h->type == CHUNK_END)
		return ftruncate(w->fd, (off_t)size) < 0 ? -errno : 0;
	if (fallocate(w->fd, FALLOC_FL_KEEP_SIZE, (off_t)size, END_ROOM) == 0)
		return 0;
	return errno == ENOSPC || errno == EDQUOT || errno == EFBIG ? -errno : 0;
}

int writer_put_packed(struct writer *w, const struct chunk_header *header, struct buf *packed)
{
	struct chunk_header h = *header;
	int r;

	if (w->failed)
		return -w->failed;
	h.magic = CHUNK_MAGIC;
	h.stored = (uint32_t)(packed->len - sizeof h);
	h.number = w->number;
	h.crc = crc32_of(&h, offsetof(struct chunk_header, crc));
	memcpy(packed->data, &h, sizeof h);
	r = write_all(w->fd, packed->data, packed->len);
	if (r == 0)
		r = keep_room(w, &h, w->size + packed->len);
	if (r < 0)
		return fail(w, r);
	__atomic_store_n(&w->size, w->size + packed->len, __ATOMIC_RELAXED);
	w->number++;
	return 0;
}

int writer_put(struct writer *w, const struct chunk_header *header, const struct buf *payload, int level)
{
	struct chunk_header h = *header;
	int r;

	if (w->failed)
		return -w->failed;
	r = writer_pack(w, &h, payload, level, &w->packed);
	return r < 0 ? fail(w, r) : writer_put_packed(w, &h, &w->packed);
}

int writer_copy(struct writer *w, const struct chunk_header *header, const struct buf *stored)
{
	w->packed.len = 0;
	buf_put(&w->packed, header, sizeof *header);
	buf_put(&w->packed, stored->data, stored->len);
	return writer_put_packed(w, header, &w->packed);
}

void writer_retry(struct writer *w)
{
	__atomic_store_n(&w->failed, 0, __ATOMIC_RELAXED);
}
