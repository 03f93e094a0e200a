/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the file that a program with libupto writes, and the ring beside it (libupto/calls_file.h). */
#ifndef UPTO_IMPORT_CALLS_BLOCKS_H
#define UPTO_IMPORT_CALLS_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cursor.h"
#include "base/error.h"
#include "libupto/calls_file.h"

/* Does the file that begins so look like one? */
bool calls_blocks_are_those(const void *data, size_t len);

struct calls_blocks {
	struct cursor in;
	uint32_t pid;
	uint32_t next;       /* number of the next block */
	const char *why_cut; /* NULL: all was whole so far */
	bool is_damaged;     /* it is not only that the last block is not all there */
};

/* `path` is for messages. The data must live as long. */
int calls_blocks_init(struct calls_blocks *b, const void *data, size_t len, const char *path, struct error *err);

struct calls_block_found {
	enum calls_block_kind kind; /* maybe one that is not known */
	struct cursor payload;
};

/* False: there is no more, or what comes is not whole. */
bool calls_blocks_next(struct calls_blocks *b, struct calls_block_found *ret);

struct calls_event {
	enum { CALLS_BEGIN, CALLS_ENDS, CALLS_UNWOUND } kind;
	uint64_t function, ticks;
	uint64_t calls; /* UNWOUND: so many */
};

/* The events of a block. */
struct calls_decoder {
	struct calls_events head;
	struct cursor in;
	struct calls_model model;
	uint64_t time; /* in units of 2^shift ticks */
	unsigned shift;
	uint32_t left; /* events to come */
};

/* The payload is one of kind CALLS_EVENTS. False: it has no head. */
bool calls_decoder_begin(struct calls_decoder *d, struct cursor payload, unsigned shift);
/* False: there are no more; d->left or what is in d->in then tells whether all was right. */
bool calls_decoder_next(struct calls_decoder *d, struct calls_event *ret);

/* The records of a ring that the file lacks. */
struct calls_rest {
	uint32_t thread, tid;
	uint64_t taken; /* number of the first that the ring's writer did not take */
	uint64_t end;   /* … and of the first that was not begun */
	uint64_t lost;
	uint64_t homeless; /* likewise, of threads that got no ring */
	const struct calls_record *records;
	uint32_t count; /* of the ring: a power of two */
};

/* The ring at *at; *at goes behind it. False: there are no more. */
bool calls_rest_next(const void *data, size_t len, size_t *at, struct calls_rest *ret);

#endif
