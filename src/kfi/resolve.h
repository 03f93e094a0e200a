/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replaces addresses in text by symbols, line by line: in a log's rows the columns Function and Caller, elsewhere the
 * first two numbers with 0x, and the function that a log says it was started or stopped by. What stands behind keeps
 * its column if there are blanks enough.
 */
#ifndef UPTO_KFI_RESOLVE_H
#define UPTO_KFI_RESOLVE_H

#include "base/buf.h"
#include "symbol_map.h"

struct resolver {
	const struct symbol_map *map;
	bool in_rows;          /* false at first */
};

/* Append the line, which may have its line end. */
void resolve_line(struct resolver *r, const char *line, size_t len, struct buf *out);

#endif
