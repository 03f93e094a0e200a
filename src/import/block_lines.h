/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lines of a text trace: of each block of instructions that ran, the time in microseconds, and where it is.
 *
 *   11409434.8589973 prepare_exit_to_usermode in section .text
 *   11409435.5189973 retint_user + 8 in section .text
 *   11409436.4899973 7fb95ab3cd20
 */
#ifndef UPTO_IMPORT_BLOCK_LINES_H
#define UPTO_IMPORT_BLOCK_LINES_H

#include "base/error.h"
#include "block_places.h"

enum { BLOCK_LINE_MAX = 4096 }; /* bytes; a longer line is none */

struct block_lines {
	const char *path;      /* set by the caller, for messages */
	/* zero at first: */
	uint64_t line;
	uint64_t ns;           /* of the last block */
	struct block_places places;
};

struct block {
	uint64_t ns;
	struct block_place *place; /* valid until the next one */
};

/* Does the file that begins so look like one? */
bool block_lines_are_those(const char *data, size_t len);

/*
 * Read the next block from *at, and move *at behind it. Returns 1, 0 if the rest is no whole line, or -1: "FILE:LINE:
 * what was expected". `last`: nothing follows, and the last line need have no end.
 */
int block_lines_next(struct block_lines *b, const char **at, const char *end, bool last, struct block *ret,
		     struct error *err);

static inline void block_lines_deinit(struct block_lines *b)
{
	block_places_deinit(&b->places);
}

#endif
