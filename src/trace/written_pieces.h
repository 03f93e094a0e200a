/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which pieces of a table were written since it was cleared: a short unit writes to few, and to clear all would take
 * longer than to read it.
 */
#ifndef UPTO_TRACE_WRITTEN_PIECES_H
#define UPTO_TRACE_WRITTEN_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Clear the pieces that were written, and forget that they were. */
static inline void clear_written(void *table, size_t piece_size, bool *written, size_t n)
{
	bool *end = written + n;

	for (bool *p = written; (p = memchr(p, true, (size_t)(end - p))); p++) {
		memset((char *)table + (size_t)(p - written) * piece_size, 0, piece_size);
		*p = false;
	}
}

#endif
