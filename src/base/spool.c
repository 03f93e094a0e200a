/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spool.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "alloc.h"
#include "file.h"

void spool_init(struct spool *s)
{
	*s = (struct spool){ .fd = -1 };
}

void spool_deinit(struct spool *s)
{
	for (size_t i = 0; i < s->count; i++) {
		buf_free(&s->streams[i].text);
		free(s->streams[i].blocks);
	}
	free(s->streams);
	if (s->fd >= 0)
		close(s->fd);
}

struct spool_stream *spool_at(struct spool *s, size_t i)
{
	s->streams = array_reach(s->streams, i, &s->cap, sizeof *s->streams);
	if (i >= s->count)
		s->count = i + 1;
	return &s->streams[i];
}

static int failed(const char *what, int error, struct error *err)
{
	return error_set(err, "a temporary file, for %s: %s", what, strerror(error));
}

static int write_block(struct spool *s, struct spool_stream *stream, const void *block, const char *what,
		       struct error *err)
{
	int error;

	if (s->fd < 0)
		s->fd = file_open_temporary();
	if (s->fd < 0)
		return failed(what, errno, err);
	error = file_transfer(s->fd, true, (void *)block, SPOOL_BLOCK, s->end);
	if (error)
		return failed(what, error, err);
	stream->blocks = array_grow(stream->blocks, stream->n_blocks, &stream->cap, sizeof *stream->blocks);
	stream->blocks[stream->n_blocks++] = s->end;
	s->end += SPOOL_BLOCK;
	return 0;
}

int spool_pass(struct spool *s, size_t i, const char *what, struct error *err)
{
	struct spool_stream *stream = &s->streams[i];
	size_t done = 0;

	if (stream->text.len < SPOOL_BLOCK)
		return 0;
	for (; stream->text.len - done >= SPOOL_BLOCK; done += SPOOL_BLOCK)
		if (write_block(s, stream, stream->text.data + done, what, err) < 0)
			return -1;
	memmove(stream->text.data, stream->text.data + done, stream->text.len - done);
	stream->text.len -= done;
	return 0;
}

uint64_t spool_length(const struct spool *s, size_t i)
{
	return i < s->count ? s->streams[i].n_blocks * (uint64_t)SPOOL_BLOCK + s->streams[i].text.len : 0;
}

int spool_copy(struct spool *s, size_t i, const struct sink *to, const char *what, struct error *err)
{
	struct spool_stream *stream = spool_at(s, i);
	cleanup_free uint8_t *block = stream->n_blocks ? xmalloc(SPOOL_BLOCK) : NULL;

	for (size_t k = 0; k < stream->n_blocks; k++) {
		int error = file_transfer(s->fd, false, block, SPOOL_BLOCK, stream->blocks[k]);

		if (error)
			return failed(what, error, err);
		if (to->write(to->context, block, SPOOL_BLOCK, err) < 0)
			return -1;
	}
	return stream->text.len ? to->write(to->context, stream->text.data, stream->text.len, err) : 0;
}
