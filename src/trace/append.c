/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "append.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "writer.h"

enum { LEVEL = 9 };

/* What stands in the file from there on. */
static int read_tail(const struct reader *r, uint64_t offset, struct buf *out)
{
	buf_reserve(out, r->size - offset);
	while (out->len < r->size - offset) {
		ssize_t n = pread(r->fd, out->data + out->len, r->size - offset - out->len, (off_t)(offset + out->len));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		out->len += (size_t)n;
	}
	return 0;
}

static int put_both(int fd, const struct reader *r, enum chunk_type type, const struct buf *payload, const struct buf *end)
{
	const struct chunk *last = &r->chunks[r->n_chunks - 1];
	struct writer w;
	int ret = writer_resume(&w, fd, last->offset, last->header.number);

	if (ret == 0)
		ret = writer_put(&w, &(struct chunk_header){ .type = type }, payload, LEVEL);
	if (ret == 0)
		ret = writer_put(&w, &last->header, end, LEVEL);
	writer_deinit(&w);
	return ret;
}

int trace_append(const struct reader *r, enum chunk_type type, const struct buf *payload, struct error *err)
{
	const struct chunk *last = r->ended && !r->cut_why ? &r->chunks[r->n_chunks - 1] : NULL;
	struct buf tail = { 0 }, packed = { 0 }, end = { 0 };
	ZSTD_DCtx *zstd = ZSTD_createDCtx();
	int fd = -1, ret = -1;

	if (!last) {
		error_set(err, "%s: has no end yet: nothing can be added", r->path);
		goto out;
	}
	if (reader_chunk(r, r->n_chunks - 1, zstd, &packed, &end, err) < 0)
		goto out;
	fd = open(r->path, O_WRONLY | O_CLOEXEC);
	ret = fd < 0 ? -errno : read_tail(r, last->offset, &tail);
	if (ret == 0)
		ret = put_both(fd, r, type, payload, &end);
	if (ret < 0) {
		error_set(err, "%s: %s", r->path, strerror(-ret));
		/* END again, where it was */
		if (fd >= 0 && tail.len && (ftruncate(fd, (off_t)last->offset) < 0 ||
					    lseek(fd, (off_t)last->offset, SEEK_SET) < 0 || write_all(fd, tail.data, tail.len) < 0))
			error_prefix(err, "%s: its end is lost", r->path);
	}
out:
	if (fd >= 0)
		close(fd);
	ZSTD_freeDCtx(zstd);
	buf_free(&tail);
	buf_free(&packed);
	buf_free(&end);
	return ret < 0 ? -1 : 0;
}
