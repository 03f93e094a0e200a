/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Several streams of bytes that are written by turns and read one after the other: for formats that want all of one CPU
 * or thread in a row. What is more than a block of a stream waits in a file without a name ($TMPDIR, else /var/tmp).
 */
#ifndef UPTO_BASE_SPOOL_H
#define UPTO_BASE_SPOOL_H

#include "sink.h"

struct spool {
	struct spool_stream {
		struct buf text;  /* its end: append here, then spool_pass() */
		uint64_t *blocks; /* where its earlier blocks are in the file: SPOOL_BLOCK bytes each */
		size_t n_blocks, cap;
	} * streams;
	size_t count;
	size_t cap;
	int fd; /* -1: nothing had to be written yet */
	uint64_t end;
};

enum { SPOOL_BLOCK = 1 << 16 };

void spool_init(struct spool *s);
void spool_deinit(struct spool *s);

/* The stream of that number: there are as many as are asked for. Valid until another one is asked for. */
struct spool_stream *spool_at(struct spool *s, size_t i);

/* Whole blocks of the stream go to the file. `what` it is that is kept there. */
int spool_pass(struct spool *s, size_t i, const char *what, struct error *err);

/* So many bytes it has. */
uint64_t spool_length(const struct spool *s, size_t i);

/* Put all of a stream into a sink. */
int spool_copy(struct spool *s, size_t i, const struct sink *to, const char *what, struct error *err);

#endif
