/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "append.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

#include "base/crc32.h"
#include "writer.h"

enum { LEVEL = 9 };

/* Bytes of the file up to the end of END. */
static uint64_t end_of(const struct chunk *last)
{
	return last->offset + sizeof last->header + last->header.stored;
}

/*
 * Nothing may follow END but what an append that was killed left: it begins as the next chunk would, as far as it is
 * there.
 */
static bool is_left_over(const struct reader *r, const struct chunk *last)
{
	struct chunk_header h = { 0 };
	ssize_t n = pread(r->fd, &h, sizeof h, (off_t)end_of(last));

	return n >= 0 && ((size_t)n < sizeof h || (h.magic == CHUNK_MAGIC && h.number == last->header.number + 1));
}

static int put_behind(int fd, const struct chunk *last, enum chunk_type type, const struct buf *payload,
		      const struct buf *end)
{
	struct writer w;
	int ret = ftruncate(fd, (off_t)end_of(last)) < 0 ? -errno : 0;

	if (ret < 0)
		return ret;
	ret = writer_resume(&w, fd, end_of(last), last->header.number + 1);
	if (ret == 0)
		ret = writer_put(&w, &(struct chunk_header){ .type = type }, payload, LEVEL);
	if (ret == 0)
		ret = writer_put(&w, &(struct chunk_header){ .type = CHUNK_END }, end, LEVEL);
	writer_deinit(&w);
	return ret;
}

/* A single write of a header: it happens as a whole or not at all. */
static int turn_into_meta(int fd, const struct chunk *last)
{
	struct chunk_header h = last->header;
	ssize_t n;

	h.type = CHUNK_META;
	h.crc = crc32_of(&h, offsetof(struct chunk_header, crc));
	do
		n = pwrite(fd, &h, sizeof h, (off_t)last->offset);
	while (n < 0 && errno == EINTR);
	return n == sizeof h ? 0 : n < 0 ? -errno : -EIO;
}

static int append(int fd, const struct chunk *last, enum chunk_type type, const struct buf *payload,
		  const struct buf *end)
{
	int ret = put_behind(fd, last, type, payload, end);

	if (ret == 0)
		ret = turn_into_meta(fd, last);
	if (ret < 0 && ftruncate(fd, (off_t)end_of(last)) < 0)
		return ret; /* readers ignore what follows END */
	return ret;
}

static bool is_damaged(const struct reader *r)
{
	for (size_t i = 0; i < r->n_damages; i++)
		if (r->damages[i].offset)
			return true;
	return false;
}

int trace_append(const struct reader *r, enum chunk_type type, const struct buf *payload, struct error *err)
{
	const struct chunk *last = r->ended ? &r->chunks[r->n_chunks - 1] : NULL;
	struct buf packed = { 0 }, end = { 0 };
	ZSTD_DCtx *zstd = ZSTD_createDCtx();
	int fd = -1, ret = -1;

	if (is_damaged(r)) { /* its chunks' numbers are not known any more */
		error_set(err, "%s: is damaged: nothing can be added", r->path);
		goto out;
	}
	if (!last || (r->cut_why && !is_left_over(r, last))) {
		error_set(err, "%s: %s: nothing can be added", r->path, last ? r->cut_why : "has no end yet");
		goto out;
	}
	if (reader_chunk(r, r->n_chunks - 1, zstd, &packed, &end, err) < 0) {
		err->damaged = false; /* nobody can go on without it */
		goto out;
	}
	fd = open(r->path, O_WRONLY | O_CLOEXEC);
	ret = fd < 0 ? -errno : append(fd, last, type, payload, &end);
	if (ret < 0)
		error_set(err, "%s: %s", r->path, strerror(-ret));
out:
	if (fd >= 0)
		close(fd);
	ZSTD_freeDCtx(zstd);
	buf_free(&packed);
	buf_free(&end);
	return ret < 0 ? -1 : 0;
}
